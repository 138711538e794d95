"""Attribute a wake to the import in progress on the waking thread; if that is unknown, say so and never
guess.
"""

from __future__ import annotations

import sys
from _thread import get_ident, get_native_id

from coldfork.observe.stacks.frames import StackView
from coldfork.observe.stacks.windows import Windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType
    from typing import Protocol

    from coldfork.observe.recording.events import Event
    from coldfork.observe.stacks.frames import Load
    from coldfork.observe.stacks.windows import Mark
    from coldfork.observe.stacks.witness import Witness

    Awake = tuple[tuple[str, str | None], ...]
    Change = tuple[Awake, Mark | None]

    class Sensor(Protocol):
        """A cheap way to read which accelerators are awake in this process, such as
        `observe.states.Poller`.
        """

        def awake(self) -> Awake: ...

    class Culprit(Protocol):
        """Where a thread was just before a wake was noticed; `observe.calls` provides it."""

        frame: FrameType
        line: int

        def callee(self) -> str | None: ...


_MOST_STARTED = 8
"""How many recently started threads are named when the culprit is unknown."""


class Attribution:
    """Polls the sensor, and turns changes since the last poll into wake events."""

    def __init__(
        self, sensor: Sensor, emit: Callable[[Event], None], base: str | None = None, *, outside: bool = True
    ) -> None:
        self.stacks: dict[int, list[Load]] = {}
        """The imports in progress on each thread, outermost first."""
        self.wrappers: set[CodeType] = set()
        """The code objects through which imports pass, by which they are recognised on a stack."""
        self.windows: Windows = Windows()
        self.polls: int = 0
        self.culprit: Callable[[], Culprit | None] = lambda: None
        self.others_wait: Callable[[], bool] = bool
        """Whether every other Python thread is known to be waiting."""
        self.witness: Callable[[str], Witness | None] = lambda accelerator: None
        """Returns the device's own account of the moment when it was woken."""
        self._base = base
        self._tell_outside = outside
        self._home = get_ident()
        self._awake = sensor.awake
        self._emit = emit
        self._claims: dict[tuple[str, str | None], object] = {}
        self._known: Awake = ()
        self._started: list[str] = []
        """The latest threads, by name; a thread that has ended meanwhile is a suspect too."""
        self.start()

    def start(self) -> None:
        """Begin to watch; devices that are awake now woke earlier, and are not reported."""
        mark = self.windows.now()
        self._known = self._awake()
        self._claims = dict.fromkeys(self._known, object())
        self.windows.keep(mark)

    def poll(self) -> None:
        """Check whether an accelerator woke since the last poll, and report each that did."""
        self.polls += 1
        windows = self.windows
        mark = windows.now()
        awake = self._awake()
        if awake == self._known:
            # The same as `windows.keep`, without the cost of a call at each import.
            windows.marks[get_ident()] = mark
        else:
            self.report((awake, mark), self.culprit())

    def change(self) -> Change | None:
        """Return the change since the last poll, or None; this is the first half of `poll`, and `report` the
        second.
        """
        mark = self.windows.now()
        awake = self._awake()
        if awake != self._known:
            return awake, mark
        self.windows.keep(mark)
        return None

    def report(self, change: Change, culprit: Culprit | None) -> None:
        """Report the accelerators of a change that have newly become awake."""
        awake, mark = change
        self._known = awake
        # With `setdefault` only one thread reports each wake, without a lock that a fork could leave locked.
        token = object()
        fresh = [key for key in awake if self._claims.setdefault(key, token) is token]
        if fresh:
            # In this order, because asking the kernel takes time in which other threads can make steps.
            alone = self.others_wait() or self.windows.alone()
            for accelerator, level in fresh:
                self._emit(self._wake(accelerator, level, culprit, alone))
        self.windows.keep(mark)

    def thread_starts(self, work: object) -> None:
        """Record that a thread is about to start with this work, because it may end before the next poll."""
        self.windows.starts += 1
        self._started = [*self._started, _thread_doing(work)][-_MOST_STARTED:]

    def forked(self) -> None:
        """In a forked child, keep only this thread's imports, and begin to watch the devices again."""
        me = get_ident()
        self.stacks = {me: self.stacks[me]} if me in self.stacks else {}
        self._home = me
        self._started = []
        self.windows.forked()
        self.start()

    def _wake(self, accelerator: str, level: str | None, culprit: Culprit | None, alone: bool) -> Event:
        witness = self.witness(accelerator)
        testified = witness is not None and (culprit is None or witness.native != get_native_id())
        if witness is not None and testified:
            waker = self._testimony(witness)
        else:
            waker = self._waker(culprit) if alone else self._nobody_sure()
        event: Event = {"event": "wake", "accelerator": accelerator, "level": level, "waker": waker}
        if not alone and not testified:
            event["suspects"] = self._suspects()
        return event

    def _waker(self, culprit: Culprit | None) -> Event:
        me = get_ident()
        frame = sys._getframe() if culprit is None else culprit.frame
        view = StackView(frame, None if culprit is None else culprit.line, self.wrappers)
        loads = view.loads
        depth = len(loads) - 1
        module = loads[-1].name if loads else self._outside(me)
        path = loads[-1].path if loads else _path_of(module)
        waker = _waker_in(thread_name(me), module, path, chain(view, outside=self._tell_outside))
        if culprit is not None:
            _place(waker, view, depth, culprit)
        return waker

    def _testimony(self, witness: Witness) -> Event:
        """Return the device's own account, which overrides inferences; only this thread's imports are known
        better.
        """
        ident = witness.ident
        name = f"thread {witness.native}" if ident is None else thread_name(ident)
        waker = witness.waker(name)
        if waker["module"] is None and not waker["import_chain"] and ident is not None:
            waker["module"] = self._outside(ident)
        return waker

    def _outside(self, me: int) -> str | None:
        """Return the program's main module if this is the main thread; used for code outside of imports."""
        return self._base if me == self._home else None

    def _nobody_sure(self) -> Event:
        names = sorted({thread_name(ident) for ident in sys._current_frames()}.union(self._started))
        return _waker_in("unknown: " + " or ".join(names), None, None, [])

    def _suspects(self) -> list[Event]:
        """Return the modules that are loading on all threads, so that a further run can find the
        exact one.
        """
        return [
            {"module": loads[-1].name, "path": loads[-1].path, "thread": thread_name(ident)}
            for ident, loads in list(self.stacks.items())
            if loads
        ]


def chain(view: StackView, *, outside: bool) -> list[Event]:
    """Return the imports in progress, outermost first, each with the line that led to the next one.

    The first entry is the code outside of imports that requested the outermost one, the last is the module
    itself.
    """
    written: list[Event] = []
    asker = view.outside()
    if outside and asker is not None and view.loads:
        frame, line = asker
        written.append(
            {"module": frame.f_globals.get("__name__"), "path": frame.f_code.co_filename, "line": line}
        )
    for depth, load in enumerate(view.loads):
        site = view.site(depth) if depth < len(view.loads) - 1 else None
        written.append({"module": load.name, "path": load.path, "line": site[1] if site else None})
    return written


def thread_name(ident: int) -> str:
    """Return the name of a thread, if `threading` knows one."""
    threading = sys.modules.get("threading")
    active = getattr(threading, "_active", {})
    known = active.get(ident) if isinstance(active, dict) else None
    if known is not None:
        return str(known.name)
    return "MainThread" if threading is None else f"thread {ident}"


def _waker_in(thread: str, module: str | None, path: str | None, imports: list[Event]) -> Event:
    """Return a waker whose line is not known yet."""
    known = {"module": module, "path": path, "line": None, "function": None, "call": None, "thread": thread}
    return {**known, "import_chain": imports, "stack": []}


def _place(waker: Event, view: StackView, depth: int, culprit: Culprit) -> None:
    """Add the line of the import-time site to a waker, and the stack from that line to the call."""
    stack = view.stack(depth)
    site = view.site(depth)
    if site is not None:
        code, line = site[0].f_code, site[1]
        waker.update({"path": code.co_filename, "line": line, "function": code.co_qualname})
    elif depth < 0 and stack:
        waker.update({key: stack[0][key] for key in ("path", "line", "function")})
    waker["stack"] = stack
    waker["call"] = view.call(depth) or culprit.callee()
    if waker["import_chain"] and depth >= 0:
        waker["import_chain"][-1]["line"] = waker["line"]


def _thread_doing(work: object) -> str:
    """Return the name of the thread that starts with this work, a method of `threading.Thread`."""
    try:
        return str(object.__getattribute__(work.__self__, "_name"))  # type: ignore[attr-defined]
    except AttributeError:
        return "a thread without a name"


def _path_of(module: str | None) -> str | None:
    path = getattr(sys.modules.get(module), "__file__", None) if module else None
    return path if isinstance(path, str) else None
