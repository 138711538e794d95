"""Calls a function where the calls inside of it find room on Python's own stack.

CPython keeps the frames of Python functions in pieces of 16 kB, asks the system for another when one is full,
and gives it back as soon as the call that needed it returns. The analyser calls deeply, up and down all the
time: pieces came and went tens of thousands of times a run, and each had its pages made anew. A frame that
asks for more than a piece holds gets one that is a power of two in size; what is left of it serves the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: Just over half a megabyte is asked for, in words of eight bytes: nearly as much is left of a whole one.
#: What nobody touches of it takes no memory.
_WORDS = 66_000


def with_room(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What the function returns."""
    roomy = FunctionType(_call.__code__.replace(co_stacksize=_WORDS), globals())
    result: R = roomy(function, args, kwargs)
    return result


def _call(function, args, kwargs):  # type: ignore[no-untyped-def]
    return function(*args, **kwargs)
