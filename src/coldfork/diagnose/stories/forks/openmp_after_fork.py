"""A forked child was ended because its parent had used GNU OpenMP.

## How it is told

By the line that numba's libgomp layer writes to standard error before it ends the child.

## What else it could be

Nothing: only numba says so.

## Reproduced

Not reproduced here. The text is that of `numba/np/ufunc/omppool.cpp`, in its handler of forks.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "openmp-after-fork"


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if the log contains its words."""
    yield from telling.by_sign(
        case, named(NAME), "A forked child was ended because its parent had used GNU OpenMP"
    )
