"""A program without a main guard starts processes while it is imported.

## How it is told

By the RuntimeError of `multiprocessing/spawn.py`, or by `context has already been set` below `spawn_main`:
a spawned child imported the program, which set its start method again. The culprit is the innermost line of
the program on the stack: the one that starts a process.

## What else it could be

Nothing: only multiprocessing says so.

## Reproduced

By a script of three lines, with spawn, on every Python that the tests run on.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose import stacks
from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.diagnose.stories.recognition import sightings
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "no-main-guard"


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if the log contains its words."""
    again = sightings(case.log, named("context-already-set"))
    found = [*sightings(case.log, named(NAME))]
    found += [seen for seen in again if stacks.is_spawned_main(seen.error.frames)]
    if found:
        title = "A program without a main guard starts processes while it is imported"
        yield telling.story(case, named(NAME), title, found)
