"""A worker of a pool tried to start processes itself.

## How it is told

By the AssertionError of `multiprocessing/process.py`. The culprit is the innermost line of the program on the
stack.

## What else it could be

Nothing: only multiprocessing and billiard say so.

## Reproduced

By a script that starts a process in a daemonic one.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "daemonic"


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if the log contains its words."""
    yield from telling.by_sign(case, named(NAME), "A worker of a pool tried to start processes itself")
