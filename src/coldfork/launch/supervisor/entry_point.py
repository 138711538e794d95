"""Isolate a script from within its own interpreter, before its first import.

This module enforces the start method that the environment names, in this process and in every Python that it
starts. It also reports to the supervisor which accelerators wake here. It runs in the script's process, so it
imports only the standard library, and nothing that it does may make the script fail.
"""

from __future__ import annotations

import os
import sys
from time import monotonic

from coldfork.observe.recording.events import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from coldfork.observe.bootstrap import WatchSession
    from coldfork.observe.recording.events import Event

METHOD = "MULTIPROCESSING_START_METHOD"
CHANNEL = "COLDFORK_CHANNEL"
#: The modules in which multiprocessing and multiprocess keep their default contexts.
CONTEXTS = frozenset({"multiprocessing.context", "multiprocess.context"})
_PROGRESS_SECONDS = 0.05
_PROGRESS_SAVED = 20
"""The most reports that may be sent at once, after a time without any."""
_MOST_CAUSES = 5
_MOST_FRAMES = 100
_LONGEST_MESSAGE = 2000


class Channel:
    """The connection to the supervisor; `current` is set once, in the script's own process."""

    current: Channel | None = None

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor
        self._identity = _identity(descriptor)
        self._paid_until = 0.0

    def tell(self, event: Event) -> None:
        """Send an event to the supervisor; do nothing if the connection is lost."""
        try:
            # A program may have closed this descriptor, and opened a file of its own under the same number.
            if _identity(self._descriptor) != self._identity:
                return
            line = memoryview(encode(event))
            while line:
                line = line[os.write(self._descriptor, line) :]
        except OSError:
            pass

    def progress(self, done: int, total: int) -> None:
        """Report the script's progress, unless the last report was sent a moment ago."""
        now = monotonic()
        # Reports use up a budget of time, which builds up to a limit while none is sent. So the last of a few
        # quick steps is reported too, but a tight loop sends only twenty reports a second.
        self._paid_until = max(self._paid_until, now - _PROGRESS_SAVED * _PROGRESS_SECONDS)
        if self._paid_until > now and done < total:
            return
        self._paid_until += _PROGRESS_SECONDS
        self.tell({"event": "progress", "done": done, "total": total})


def begin(session: WatchSession) -> None:
    """Enforce the start method and begin to report events; the watch calls this when it begins."""
    method = os.environ.get(METHOD)
    descriptor = os.environ.pop(CHANNEL, None)
    if descriptor is not None and descriptor.isdigit():
        Channel.current = Channel(int(descriptor))
    if method:
        Enforcer(method).install()
    _guard()
    channel = Channel.current
    if channel is None:
        return
    if method:
        channel.tell({"event": "enforced", "method": method})
    _watch(session, channel)
    channel.tell({"event": "up"})


def _guard() -> None:
    """Turn on the fork guard if the environment says so; its larger part is imported on demand."""
    try:
        from coldfork.start.guard import MODES, OFF, VARIABLE, guard
        from coldfork.start.guard.process import HERE

        mode = os.environ.get(VARIABLE, OFF).strip().lower()
        if mode in MODES and mode != OFF and HERE.mode == OFF:
            HERE.observe_later()
            guard(mode)
    except Exception as error:
        # The script must run even if its guard does not work.
        sys.stderr.write(f"coldfork: the fork guard is not on: {type(error).__name__}: {error}\n")


def _watch(session: WatchSession, channel: Channel) -> None:
    import atexit

    from coldfork.observe.bootstrap import guard_exit
    from coldfork.observe.watch import MAIN, watch

    home = os.getpid()

    def sink(event: Event) -> None:
        if event["event"] == "wake" and event["pid"] == home:
            channel.tell(event)

    watching = watch(sink, base=MAIN, imports=False, began=session.settings.get("began"))
    ended: list[int] = []

    def end(status: int | None = None) -> None:
        if ended or os.getpid() != home:
            return
        ended.append(home)
        watching.poll()
        _tell_failure(channel)
        channel.tell({"event": "states", "states": watching.states()})

    atexit.register(end)
    guard_exit(end)


def _tell_failure(channel: Channel) -> None:
    """Report the exception that ends this process, which Python has printed and stored in `sys`."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if isinstance(error, BaseException):
        channel.tell({"event": "exception", "exception": _described(error)})


def _described(error: BaseException) -> Event:
    """Describe an exception with its traceback, and the exceptions that caused it.

    This does not use `traceback`: importing it compiles code, which makes Python forget that it was
    interrupted, and end with the wrong status.
    """
    chain: list[Event] = []
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen and len(chain) < _MOST_CAUSES:
        seen.add(id(link))
        chain.append({"type": type(link).__name__, "message": _said(link), "stack": _stack(link)})
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return {**chain[0], "caused_by": chain[1:]}


def _stack(error: BaseException) -> list[Event]:
    """Return the frames of a traceback, outermost first, without those of the import system."""
    frames: list[Event] = []
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if not code.co_filename.startswith("<frozen importlib"):
            frames.append({"path": code.co_filename, "line": step.tb_lineno, "function": code.co_name})
        step = step.tb_next
    return frames[-_MOST_FRAMES:]


def _said(error: BaseException) -> str:
    try:
        return str(error)[:_LONGEST_MESSAGE]
    except Exception:
        return ""


def progress(done: int, total: int) -> None:
    """Report to this script's caller that `done` of `total` steps are done; without a caller, do nothing.

    `coldfork exec` shows it as a bar, and `run_script` passes it to `on_progress`. It may be called in a
    tight loop: at most twenty reports a second are sent.
    """
    channel = Channel.current
    if channel is not None:
        channel.progress(int(done), int(total))


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


class Enforcer:
    """An import hook that makes a start method multiprocessing's default as soon as its module is loaded.

    It does not import multiprocessing or its variants itself, because a script may not need them.
    """

    def __init__(self, method: str) -> None:
        self._method = method

    def install(self) -> None:
        """Install the hook; set the default in modules that are already imported."""
        sys.meta_path.insert(0, self)
        for name in CONTEXTS:
            module = sys.modules.get(name)
            if module is not None:
                self.enforce(module)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module that holds the default, and hook into its loader; return None for other modules."""
        if name not in CONTEXTS:
            return None
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            self.enforce(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def enforce(self, context: ModuleType) -> None:
        """Set the default start method but do not fix it: the script may still choose another."""
        try:
            known = context._concrete_contexts.get(self._method)
            if known is not None and context._default_context._actual_context is None:
                context._default_context._default_context = known
        except AttributeError:
            # This version of the module has other attributes, so its default stays as it is.
            return
