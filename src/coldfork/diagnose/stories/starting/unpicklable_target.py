"""What a new process was to run cannot be sent to it.

## How it is told

By pickle's errors (`Can't pickle local object`, `cannot pickle '_thread.lock' object`) where the stack
shows that a process was being started or handed work: multiprocessing's `popen_spawn_*`,
`popen_forkserver`, its reduction or its queues. pickle fails elsewhere too, and that is no story.

## What else it could be

Nothing, where a process was being started.

## Reproduced

By a script that starts a process with spawn, whose target is a function inside a function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from coldfork.diagnose import stacks
from coldfork.diagnose.case import Case
from coldfork.diagnose.logs.records import LoggedError
from coldfork.diagnose.stories import telling
from coldfork.diagnose.stories.recognition import Sighting
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "unpicklable-target"
_SIGN = re.compile(r"[Cc]an(?:'t|not) (?:pickle|get) |pickl\w+ (?:is|are) not|not picklable")
_STARTING = re.compile(
    r"(?:multiprocessing|multiprocess)/(?:popen_spawn_\w+|popen_forkserver|reduction|queues|connection)\.py$"
)


def tell(case: Case) -> Iterator[Story]:
    """The story, if a process was being started or handed work."""
    trouble = named(NAME)
    found = [Sighting(error, True) for error in case.errors(trouble.kinds) if _is_starting(error)]
    if found:
        yield telling.story(case, trouble, "What a new process was to run cannot be sent to it", found)


def _is_starting(error: LoggedError) -> bool:
    if _SIGN.search(error.said) is None:
        return False
    return any(_STARTING.search(stacks.joined(frame)) for frame in error.frames)
