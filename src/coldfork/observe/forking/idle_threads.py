"""Find the Python threads that merely wait for work, and hold no lock that a forked child could need.

A fork copies only the forking thread. A lock that another thread holds at that moment stays locked in the
child; a thread without locks is not missed. Most threads are like that, such as a worker that waits for a
queue. CPython releases its own locks in the child: the one for all imports, and those of logging, its
handlers and threading.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from itertools import pairwise

from coldfork.observe.late_imports import LATE, without_late_imports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import CodeType, FrameType
    from typing import Any

_WAITS = frozenset(
    {
        # The queue is written in C, so while a worker waits, its own frame is the innermost.
        ("concurrent.futures.thread", "_worker"),
        # These functions release their lock while they wait; the frames that call them are checked as well.
        ("threading", "wait"),
        ("threading", "_wait_for_tstate_lock"),
        ("threading", "join"),
        ("selectors", "select"),
        # Waits in `for tasks in iter(queue.get, None)`, which calls the queue from C.
        ("multiprocessing.pool", "_handle_tasks"),
        ("multiprocessing.connection", "_recv"),
        ("socket", "accept"),
    }
)
"""The functions in which a thread waits and holds nothing, if they are innermost: module and function."""

_THROUGH = frozenset(
    {
        # Waits inside `with self.not_empty`, and so releases that lock.
        ("queue", "get"),
        ("threading", "wait"),
        ("threading", "wait_for"),
        ("multiprocessing.queues", "_feed"),
        ("concurrent.futures._base", "result"),
        ("concurrent.futures._base", "exception"),
        # The `with` blocks of these functions hold a selector and no lock.
        ("multiprocessing.connection", "wait"),
        ("socketserver", "serve_forever"),
    }
)
"""Functions that seem to hold a lock while they wait, but hold none."""

_SLEEPS = "sleep"
_GETS = "get"
_LOOKS_UP = ("LOAD_METHOD", "LOAD_ATTR", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")
_ACQUIRES = ("acquire", "enter_context", "enter_async_context", "__enter__")
_IMPORTLIB = "importlib._bootstrap"


class PythonThread:
    """The state of another Python thread at one moment."""

    __slots__ = ("idle", "importing", "name", "place")

    def __init__(
        self, name: str, *, idle: bool = False, importing: str | None = None, place: str | None = None
    ) -> None:
        self.name: str = name
        self.idle: bool = idle
        """Whether the thread merely waits, and holds no lock."""
        self.importing: str | None = importing
        """The module that it is importing, so that it holds the module's lock."""
        self.place: str | None = place
        """Its current line in the program, if it is not idle."""

    def __repr__(self) -> str:
        return f"<{self.name}{' idle' if self.idle else ''}>"


def other_threads(known: Mapping[int, Any]) -> list[PythonThread]:
    """Return the other Python threads; `known` are the threads that `threading` lists."""
    LATE.load("dis")
    me = get_ident()
    found = []
    for ident, frame in sys._current_frames().items():
        if ident != me:
            name = str(getattr(known.get(ident), "name", f"thread {ident}"))
            found.append(_looked_at(name, frame))
    return found


def _looked_at(name: str, innermost: FrameType) -> PythonThread:
    stack = without_late_imports(list(_outwards(innermost)))
    innermost = stack[0]
    importing = next((_module_of(frame) for frame in stack if _imports(frame)), None)
    if importing is not None:
        return PythonThread(name, importing=importing)
    if _waits(innermost) and all(map(_holds_nothing, stack)):
        return PythonThread(name, idle=True)
    return PythonThread(name, place=f"{innermost.f_code.co_filename}:{innermost.f_lineno}")


def _waits(frame: FrameType) -> bool:
    """Return whether a thread is waiting, as far as its innermost frame shows."""
    if _place(frame) in _WAITS:
        return True
    called = _called(frame)
    return called == _SLEEPS or (called == _GETS and any(map(_is_queue, _within_reach(frame))))


def _called(frame: FrameType) -> str | None:
    """Return the name of the C function that a frame is calling now."""
    import dis

    name = None
    for one in dis.get_instructions(frame.f_code):
        if one.offset >= frame.f_lasti:
            return name if one.opname.startswith("CALL") else None
        if one.opname in _LOOKS_UP:
            name = str(one.argval)
    return None


def _within_reach(frame: FrameType) -> Iterator[object]:
    for value in (*frame.f_locals.values(), *map(frame.f_globals.get, frame.f_code.co_names)):
        yield value
        yield from getattr(value, "__dict__", {}).values() if type(value).__module__ != "builtins" else ()


def _is_queue(value: object) -> bool:
    return (type(value).__module__, type(value).__name__) == ("_queue", "SimpleQueue")


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _place(frame: FrameType) -> tuple[object, str]:
    return frame.f_globals.get("__name__"), frame.f_code.co_name


def _imports(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") == _IMPORTLIB and frame.f_code.co_name == "_load_unlocked"


def _module_of(frame: FrameType) -> str:
    return str(getattr(frame.f_locals.get("spec"), "name", "a module"))


def _holds_nothing(frame: FrameType) -> bool:
    """Return whether a frame holds no lock, as far as its code shows."""
    place = _place(frame)
    if place in _WAITS or place in _THROUGH:
        return True
    return not set(_ACQUIRES).intersection(frame.f_code.co_names) and not _inside_with(frame)


def _inside_with(frame: FrameType) -> bool:
    """Return whether a frame is inside the block of a `with` statement."""
    return any(begin <= frame.f_lasti < end for begin, end in _blocks(frame.f_code))


def _blocks(code: CodeType) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a function's instructions that are blocks of `with` statements.

    From Python 3.11 on, a table gives the handler of each range of instructions; the handler of a `with`
    begins by calling `__exit__`.
    """
    import dis

    instructions = {one.offset: one.opname for one in dis.get_instructions(code)}
    following = dict(pairwise(instructions))
    for entry in dis._parse_exception_table(code):  # type: ignore[attr-defined]
        after = following.get(entry.target)
        if after is not None and instructions[after] == "WITH_EXCEPT_START":
            yield entry.start, entry.end
