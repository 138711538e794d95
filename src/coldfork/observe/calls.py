"""Find the exact call that woke a device, while one module is being loaded.

Polling at every call is too expensive for a whole program. So this is done in a second run, in a fresh
process, and only while a module that the first run found is being loaded, but not while that module imports
others. From Python 3.12 on, `sys.monitoring` reports calls into C, including those by `ctypes`. In older
Pythons, tracing finds the line, and `sys.setprofile` some of the calls.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from itertools import count

from coldfork.observe.late_imports import LATE
from coldfork.observe.stacks.frames import dotted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from types import CodeType, FrameType
    from typing import Any

    from coldfork.observe.attribution import Attribution
    from coldfork.observe.stacks.frames import Load


EVERY = "*"
"""Stands for every module; expensive, but works for an import that ends the process before it can be
examined.
"""

#: C functions in which a thread merely waits, so that it wakes nothing.
WAITING = frozenset({
    "_queue.SimpleQueue.get", "_thread.RLock.acquire", "_thread._ThreadHandle.join", "_thread.lock.acquire",
    "RLock.acquire", "SimpleQueue.get", "_ThreadHandle.join", "lock.acquire", "posix.read", "posix.waitpid",
    "select.epoll.poll", "select.poll", "select.select", "time.sleep",
})  # fmt: skip


class Spot:
    """Where a thread was last seen: a frame, its line at that time, and the call that it was about
    to make.
    """

    __slots__ = ("_callee", "ended", "frame", "line", "number")

    def __init__(self, frame: FrameType, callee: object, number: int, *, ended: bool = False) -> None:
        self.number: int = number
        """The number of the step, counted over all threads."""
        self.ended: bool = ended
        self.frame: FrameType = frame
        self.line: int | Any = frame.f_lineno or 0
        self._callee = callee

    def waits(self) -> bool:
        """Return whether the thread is in a call that does nothing but wait."""
        return self._callee is not None and not self.ended and dotted(self._callee) in WAITING

    def callee(self) -> str | None:
        """Return the dotted name of the function called at this position, or else of the frame's function."""
        if self._callee is not None:
            return dotted(self._callee)
        LATE.load("coldfork.observe.stacks.call_source")
        from coldfork.observe.stacks.call_source import called_in

        # `sys.monitoring` announces every call; so if none was announced, the line itself woke the device.
        return called_in(self.frame, self.line, announced=hasattr(sys, "monitoring"))


class Calls:
    """A watch of every call while the code of a wanted module runs."""

    def __init__(
        self,
        attribution: Attribution,
        wanted: Collection[str],
        base: str | None = None,
        trouble: Callable[[str, BaseException], None] | None = None,
    ) -> None:
        self._attribution = attribution
        self._trouble = trouble
        self._wanted = frozenset(wanted)
        self._base = base
        self._inside: set[int] = set()
        """The threads on which a wanted module is the innermost one being loaded."""
        self._last: dict[int, Spot] = {}
        self._steps = count()
        self._tracing: _Monitoring | _Tracing = (
            _Monitoring(self._step) if hasattr(sys, "monitoring") else _Tracing(self._step)
        )

    def begin(self) -> None:
        """Begin to watch; begin at once if the code outside of imports is wanted."""
        self._attribution.culprit = self._culprit
        self._attribution.others_wait = self._others_wait
        self.switch(None)

    def end(self) -> None:
        """Stop watching calls."""
        self._inside.clear()
        self._last.clear()
        self._tracing.release()

    def switch(self, load: Load | None) -> None:
        """Handle the loading of another module on this thread; `None` stands for code outside of imports."""
        me = get_ident()
        name = self._base if load is None else load.name
        if name in self._wanted or (load is not None and EVERY in self._wanted):
            self._inside.add(me)
            if not self._tracing.start() and self._trouble is not None:
                self._trouble("calls", RuntimeError("another tracer is in place, so no call can be seen"))
        elif me in self._inside:
            self._inside.discard(me)
            # Other threads are no longer watched, so their last positions become invalid.
            self._last.clear()
            self._tracing.pause(not self._inside)

    def forked(self) -> None:
        """In a forked child, forget all threads but this one."""
        self._inside &= {get_ident()}

    def _culprit(self) -> Spot | None:
        return self._last.get(get_ident())

    def _others_wait(self) -> bool:
        """Return True if every other thread was already waiting at this thread's last step, and still is."""
        mine = self._last.get(get_ident())
        if mine is None or not self._inside:
            return False
        others = [self._last.get(ident) for ident in sys._current_frames() if ident != get_ident()]
        return all(spot is not None and spot.number < mine.number and spot.waits() for spot in others)

    def _step(self, frame: FrameType | None, callee: object = None, *, ended: bool = False) -> None:
        """Record that a thread has reached another call or line, and attribute changes to its last
        position.
        """
        try:
            self._advance(frame, callee, ended)
        except Exception as error:
            if self._trouble is not None:
                self._trouble("call", error)

    def _advance(self, frame: FrameType | None, callee: object, ended: bool) -> None:
        me = get_ident()
        attribution = self._attribution
        last = self._last.get(me)
        change = attribution.change()
        if change is not None:
            if ended and frame is not None:
                # The waking call has just returned, so it need not be inferred.
                self._last[me] = Spot(frame, callee, -1 if last is None else last.number, ended=True)
            attribution.report(change, self._culprit())
        if frame is None:
            self._last.pop(me, None)
        else:
            self._last[me] = Spot(frame, None if ended else callee, next(self._steps))


class _Monitoring:
    """`sys.monitoring`, for Python 3.12 and later: it covers every thread and every kind of C function."""

    def __init__(self, step: Callable[..., None]) -> None:
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._tool = self._free_tool()
        self._on = False
        events = self._monitoring.events
        self._events = 0
        if self._tool is None:
            return
        for event, callback in _callbacks(step).items():
            self._monitoring.register_callback(self._tool, getattr(events, event), callback)
            # The events C_RETURN and C_RAISE are enabled together with CALL.
            self._events |= 0 if event.startswith("C_") else getattr(events, event)

    def start(self) -> bool:
        if not self._on and self._tool is not None:
            self._on = True
            self._monitoring.set_events(self._tool, self._events)
        return self._on

    def pause(self, for_all: bool) -> None:
        if for_all and self._on:
            self._on = False
            self._monitoring.set_events(self._tool, 0)

    def release(self) -> None:
        self.pause(True)
        if self._tool is not None:
            self._monitoring.free_tool_id(self._tool)
            self._tool = None

    def _free_tool(self) -> int | None:
        for tool in (3, 4, 2, 5, 1, 0):
            try:
                self._monitoring.use_tool_id(tool, "coldfork")
            except ValueError:
                continue
            return tool
        return None


def _callbacks(step: Callable[..., None]) -> dict[str, Callable[..., None]]:
    getframe = sys._getframe

    def here(code: CodeType, *rest: object) -> None:
        step(getframe(1))

    def call(code: CodeType, offset: int, callee: object, first: object) -> None:
        step(getframe(1), callee)

    def called(code: CodeType, offset: int, callee: object, first: object) -> None:
        step(getframe(1), callee, ended=True)

    def left(code: CodeType, *rest: object) -> None:
        step(getframe(1).f_back)

    return {
        **dict.fromkeys(("PY_START", "PY_RESUME", "PY_THROW", "LINE"), here),
        "CALL": call,
        **dict.fromkeys(("C_RETURN", "C_RAISE"), called),
        **dict.fromkeys(("PY_RETURN", "PY_YIELD", "PY_UNWIND"), left),
    }


class _Tracing:
    """`sys.settrace` and `sys.setprofile`, for older Pythons: they cover this thread and new ones."""

    def __init__(self, step: Callable[..., None]) -> None:
        self._step = step

    def start(self) -> bool:
        if sys.gettrace() not in (None, self._trace) or sys.getprofile() not in (None, self._profile):
            return False
        self._set(self._trace, self._profile)
        return True

    def pause(self, for_all: bool) -> None:
        # Remove only our own functions: the module may have set a tracer.
        if sys.gettrace() == self._trace and sys.getprofile() == self._profile:
            self._set(None, None)

    def release(self) -> None:
        self.pause(True)

    def _set(self, trace: Any, profile: Any) -> None:
        sys.settrace(trace)
        sys.setprofile(profile)
        threading = sys.modules.get("threading")
        if threading is not None:
            threading.settrace(trace)
            threading.setprofile(profile)

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "return":
            self._step(frame.f_back)
        else:
            self._step(frame)
        return self._trace

    def _profile(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "c_call":
            self._step(frame, argument)
        elif event in ("c_return", "c_exception"):
            self._step(frame, argument, ended=True)
