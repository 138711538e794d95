"""The guard of this process: one audit hook, and its actions before a fork.

Neither audit hooks nor fork handlers can be removed. So the process has one of each, and a table of actions.
While the guard is off the table is empty, and an event costs one look-up in it.
"""

from __future__ import annotations

import os
import sys
from _contextvars import ContextVar
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from coldfork.model.decisions import Reason
    from coldfork.start.guard.child_notes import Notes
    from coldfork.start.guard.examination import ForkExamination
    from coldfork.start.guard.observation import WakeObservation
    from coldfork.start.guard.protocols import ModeRequest, Permission

    Action = Callable[[tuple[Any, ...]], None]

OFF = "off"
_OURS = "coldfork.start.guard"
_MOST_TROUBLES = 20
_SITE = "site"
"""The module that runs sitecustomize and pth files; its imports do not show that a program has begun."""
FORKING = frozenset({"multiprocessing.popen_fork", "billiard.popen_fork", "multiprocess.popen_fork"})
"""The module in which multiprocessing forks, and those of the packages with a copy of it."""
SELF_TEST = "coldfork.guard"
"""The audit event that the guard raises to find out whether its hook receives events."""

ALLOWED: ContextVar[Permission | None] = ContextVar("coldfork.allow_fork", default=None)


class ProcessGuard:
    """The guard: examines this process before each fork, according to the innermost mode."""

    def __init__(self) -> None:
        self.mode: str = OFF
        self.observation: WakeObservation | None = None
        self.notes: Notes | None = None
        self.troubles: list[str] = []
        """Failures of the guard itself, which never stop a fork."""
        self._modes: list[ModeRequest] = []
        self._actions: dict[str, Action] = {}
        self._listens = False
        self._examination: ForkExamination | None = None
        self._cleared: set[int] = set()
        self._handed_on: dict[int, tuple[Reason, ...]] = {}

    def push(self, request: ModeRequest) -> None:
        """Apply a requested mode from now on, in place of the mode of a preceding plain call."""
        if self._modes and not self._modes[-1].is_block:
            request.replaces = self._modes.pop()
            request.replaces.replaces = None
        self._modes.append(request)
        self._apply()

    def enter(self, request: ModeRequest) -> None:
        """Record that the latest request is a block, whose end restores the mode that it replaced."""
        if request.replaces is not None and request in self._modes:
            self._modes.insert(self._modes.index(request), request.replaces)
        request.replaces = None

    def remove(self, request: ModeRequest) -> None:
        """End a block: drop its mode and the modes that plain calls inside it requested."""
        if request not in self._modes:
            return
        index = self._modes.index(request)
        del self._modes[index]
        while index < len(self._modes) and not self._modes[index].is_block:
            del self._modes[index]
        self._apply()

    def listen(self) -> None:
        """Install the audit hook and the fork handlers, once for the process."""
        if self._listens:
            return
        heard: list[object] = []
        self._actions[SELF_TEST] = heard.append
        sys.addaudithook(_hook(self._actions))
        sys.audit(SELF_TEST)
        del self._actions[SELF_TEST]
        if not heard:
            from coldfork.model.errors import UsageError

            raise UsageError("cannot install the fork guard: another audit hook of this process forbids it")
        self._listens = True
        os.register_at_fork(after_in_parent=self._forked_in_parent, after_in_child=self._forked_in_child)

    def observe(self) -> None:
        """Begin to watch for wakes; the wrappers in importlib stay until the guard is off."""
        _load("coldfork.start.guard.observation")
        from coldfork.start.guard.observation import WakeObservation

        self._actions.pop("import", None)
        if self.observation is None:
            self.observation = WakeObservation(self._actions, self._loaded, self._trouble)
        self.observation.begin()

    def observe_later(self) -> None:
        """Begin to watch at the first import outside the standard library; a plain script pays nothing."""
        if self.observation is None:
            self._actions["import"] = self._import

    def before_launch(self, process: Any) -> bool:
        """Examine the process before multiprocessing makes its pipes; return False if the guard is off."""
        if self.mode == OFF:
            return False
        call = f"multiprocessing {getattr(process, 'name', 'process')}"
        self._examine(call, sys._getframe(2), process)
        self._cleared.add(get_ident())
        return True

    def after_launch(self) -> None:
        """Record, in the parent, that the launch is over."""
        self._cleared.discard(get_ident())

    def against(self, call: str, frame: FrameType | None, process: Any = None) -> tuple[Reason, ...]:
        """Return the reasons against a fork now, for the child's purpose; empty if the guard itself fails."""
        try:
            examination = self._examination
            if examination is None:
                _load("coldfork.start.guard.examination")
                from coldfork.start.guard.examination import ForkExamination

                examination = self._examination = ForkExamination()
            found = examination.held(self.observation)
            if not found:
                return ()
            _load("coldfork.model.forking.judgement")
            _load("coldfork.observe.forking.bodies")
            _load("coldfork.start.guard.callers")
            from coldfork.model.forking.judgement import Purpose
            from coldfork.observe.forking import bodies, purposes
            from coldfork.start.guard.callers import forking_package

            if process is not None:
                purpose, _ = purposes.of_process(process)
                called = bodies.of_process(process)
            else:
                purpose, target = purposes.purpose_and_target(frame)
                called = bodies.of_purpose(purpose, target)
            forks = forking_package(frame, purpose)
            return examination.reasons(found, Purpose(purpose), called, forks)
        except Exception as error:
            self._trouble(call, error)
            return ()

    def _apply(self) -> None:
        modes = [request.mode for request in self._modes]
        self.mode = modes[-1] if modes else OFF
        if self.mode != OFF:
            self.listen()
            self._actions["os.fork"] = lambda _: self._before("os.fork")
            self._actions["os.forkpty"] = lambda _: self._before("os.forkpty")
            self._actions["subprocess.Popen"] = lambda _: self._before_program()
            self._guard_launches()
        else:
            for event in ("os.fork", "os.forkpty", "subprocess.Popen"):
                self._actions.pop(event, None)
        if any(mode != OFF for mode in modes):
            if "import" not in self._actions:
                self.observe()
        elif self.observation is not None:
            self.observation.end()

    def _guard_launches(self) -> None:
        for name in FORKING:
            if name in sys.modules:
                _load("coldfork.start.guard.multiprocessing_launches")
                from coldfork.start.guard.multiprocessing_launches import guard_launches

                guard_launches(sys.modules[name], self)

    def _import(self, arguments: tuple[Any, ...]) -> None:
        name = arguments[0]
        top = name.partition(".")[0]
        if (top in sys.stdlib_module_names or top == "coldfork") and name not in FORKING:
            return
        # The caller of this method is the audit hook, whose caller is the importer.
        if sys._getframe(2).f_globals.get("__name__") == _SITE:
            return
        try:
            self.observe()
        except Exception as error:
            self._trouble("observe", error)

    def _loaded(self, name: str) -> None:
        if name in FORKING:
            self._guard_launches()
        if self.notes is not None:
            self.notes.loaded(name)

    def _before(self, call: str) -> None:
        me = get_ident()
        if me in self._cleared:
            # This thread was examined a moment ago; the mark is removed before the child can inherit it.
            self._cleared.discard(me)
            return
        self._examine(call, _caller_frame(sys._getframe()))

    def _before_program(self) -> None:
        """Examine the process before subprocess forks, if a `preexec_fn` will run in the child."""
        frame = _caller_frame(sys._getframe())
        if frame is not None and frame.f_locals.get("preexec_fn") is not None:
            self._examine("subprocess.Popen", frame)

    def _examine(self, call: str, frame: FrameType | None, process: Any = None) -> None:
        if self._handed_on:
            self._handed_on.pop(get_ident(), None)
        reasons = self.against(call, frame, process)
        if not reasons:
            return
        try:
            _load("coldfork.start.guard.consequences")
            _load("coldfork.start.guard.child_notes")
        except ImportError as error:
            self._trouble(call, error)
            return
        from coldfork.start.guard import consequences
        from coldfork.start.guard.callers import users_place

        allowing = ALLOWED.get()
        if allowing is not None and allowing.pid == os.getpid():
            consequences.let_through(call, reasons, allowing.reason)
        else:
            consequences.speak(self.mode, call, reasons, frame)
        self._hand_on(reasons, users_place(frame))

    def _hand_on(self, reasons: tuple[Reason, ...], place: tuple[str, int] | None) -> None:
        """Prepare the note for a child that is forked despite the reasons, to explain its
        framework's errors.
        """
        from coldfork.start.guard.child_notes import Notes

        if self.notes is None:
            self.notes = Notes()
        self.notes.prepare(place)
        self._handed_on[get_ident()] = reasons

    def _forked_in_parent(self) -> None:
        self._handed_on.pop(get_ident(), None)

    def _forked_in_child(self) -> None:
        reasons = self._handed_on.pop(get_ident(), None)
        self._handed_on.clear()
        self._cleared.clear()
        if reasons and self.notes is not None:
            try:
                self.notes.arm(reasons)
            except Exception as error:
                # Nothing is logged, because a thread that does not exist here may hold the log's lock.
                self.troubles.append(f"notes: {type(error).__name__}: {error}")

    def _trouble(self, what: str, error: BaseException) -> None:
        """Record and log once that the guard itself failed; the program goes on."""
        trouble = f"{what}: {type(error).__name__}: {error}"
        if trouble in self.troubles or len(self.troubles) >= _MOST_TROUBLES:
            return
        self.troubles.append(trouble)
        try:
            _load("logging")
            import logging

            logging.getLogger("coldfork").warning("the fork guard failed; the program goes on: %s", trouble)
        except Exception:
            return


def _load(name: str) -> None:
    """Import a module, during which no other thread can fork.

    A thread that forks comes here first, and waits for a thread that is importing.
    """
    from coldfork.observe.late_imports import LATE

    LATE.load(name)


def _caller_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame outside the guard; None if the thread began in `os.fork` itself."""
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_OURS):
        frame = frame.f_back
    return frame


def _hook(actions: dict[str, Action]) -> Callable[[str, tuple[Any, ...]], None]:
    find = actions.get

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        action = find(event)
        if action is not None:
            action(arguments)

    return hook


# Shared by the whole process, because an audit hook cannot be removed.
HERE = ProcessGuard()
