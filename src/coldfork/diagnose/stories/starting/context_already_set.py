"""The start method was set twice.

## How it is told

By the RuntimeError of `multiprocessing/context.py`. The culprit is the line that set it the second time.

## What else it could be

Nothing: only multiprocessing says so. Below `spawn_main`, the import of the program in a spawned child set
the method, and that is [no-main-guard](no-main-guard.md).

## Reproduced

By a script of two lines.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose import stacks
from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.diagnose.stories.recognition import sightings
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "context-already-set"


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if the log contains its words."""
    found = [
        seen for seen in sightings(case.log, named(NAME)) if not stacks.is_spawned_main(seen.error.frames)
    ]
    if found:
        yield telling.story(case, named(NAME), "The start method was set twice", found)
