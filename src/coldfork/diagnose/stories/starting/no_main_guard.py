"""A program without a main guard starts processes while it is imported.

## How it is told

By the RuntimeError of `multiprocessing/spawn.py`. The culprit is the innermost line of the program on the
stack: the one that starts a process.

## What else it could be

Nothing: only multiprocessing says so.

## Reproduced

By a script of three lines, with spawn, on every Python that the tests run on.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "no-main-guard"


def tell(case: Case) -> Iterator[Story]:
    """The story, if the words stand in the log."""
    yield from telling.by_sign(
        case, named(NAME), "A program without a main guard starts processes while it is imported"
    )
