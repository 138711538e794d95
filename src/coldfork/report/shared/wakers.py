"""Who woke a device: the calls from the line that did it, and the imports that led there."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from coldfork.model.states import Frame, Waker

MODULE_LEVEL = "<module>"
"""What Python calls the function of a line that stands in none."""

Place = Callable[[str, int | None], str]
"""Says a line of a file as the reader of this report would open it."""

Row = tuple[str, str]
"""What is called or imported, and where."""


def inside(function: str | None) -> str:
    """The function or class that a line stands in; empty for a line that stands in none."""
    return "" if function is None or function == MODULE_LEVEL else function


def calls_to_device(waker: Waker) -> tuple[Frame, ...]:
    """The calls from the waking line on, up to the one that people know, whose own calls it hides."""
    calls = waker.stack[1:]
    for depth, frame in enumerate(calls):
        if waker.call and is_called(frame.function, waker.call):
            return calls[:depth]
    return calls


def is_called(function: str, call: str) -> bool:
    """Whether a frame belongs to a call; a frame knows its function without the module, a call with it."""
    return call == function or call.endswith(f".{function}")


def frame_rows(frames: Iterable[Frame], place: Place) -> list[Row]:
    """A row for each of these calls."""
    return [(frame.function, place(frame.path, frame.line)) for frame in frames]


def import_rows(waker: Waker, place: Place) -> list[Row]:
    """A row for each import that led to the waking line; none where it is the only one."""
    chain = waker.import_chain
    if len(chain) < 2:
        return []
    return [(site.module, place(site.path, site.line) if site.path else "") for site in chain]
