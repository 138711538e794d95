"""Calls a function with enough space on Python's own stack for deeply nested calls.

CPython keeps the frames of Python functions in chunks of 16 kB, allocates another when one is full, and frees
it as soon as the call that needed it returns. The analyser keeps calling deeply and returning, so chunks
would be allocated and freed tens of thousands of times in a run, each time with fresh pages. But a frame that
is larger than a chunk gets a chunk of its own, whose size is a power of two, and the rest of that chunk
serves other frames.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: In words of eight bytes: just over half a megabyte. Python then allocates a whole megabyte, of which nearly
#: half is left for the calls. Untouched pages take no memory.
_WORDS = 66_000


def with_room(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function on a new, larger part of the stack, and return its result."""
    roomy = FunctionType(_call.__code__.replace(co_stacksize=_WORDS), globals())
    result: R = roomy(function, args, kwargs)
    return result


def _call(function, args, kwargs):  # type: ignore[no-untyped-def]
    return function(*args, **kwargs)
