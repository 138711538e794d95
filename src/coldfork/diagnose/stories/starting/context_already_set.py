"""The start method was set twice.

## How it is told

By the RuntimeError of `multiprocessing/context.py`. The culprit is the line that set it the second time.

## What else it could be

Nothing: only multiprocessing says so.

## Reproduced

By a script of two lines.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "context-already-set"


def tell(case: Case) -> Iterator[Story]:
    """The story, if the words stand in the log."""
    yield from telling.by_sign(case, named(NAME), "The start method was set twice")
