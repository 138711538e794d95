"""The target of a new process cannot be sent to it.

## How it is told

By pickle's errors (`Can't pickle local object`, `cannot pickle '_thread.lock' object`) where the stack shows
that a process was being started or handed work: multiprocessing's `popen_spawn_*`, `popen_forkserver`, its
reduction or its queues, or a spawned child's `spawn`, which does not find its target. pickle fails elsewhere
too, but then no story is told.

## What else it could be

Nothing, if a process was being started.

## Reproduced

By a script that starts a process with spawn, whose target is a function inside a function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from coldfork.diagnose import stacks
from coldfork.diagnose.case import Case
from coldfork.diagnose.logs.records import LoggedError
from coldfork.diagnose.stories import telling
from coldfork.diagnose.stories.recognition import Sighting
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "unpicklable-target"
_SIGN = re.compile(r"[Cc]an(?:'t|not) (?:pickle|get) |pickl\w+ (?:is|are) not|not picklable")
_FED = (
    "A queue pickles its objects in a thread of its own, after `put` has returned. The object is lost, "
    "its receiver waits forever, and the stack does not show which line called `put`."
)
_STARTING = re.compile(
    r"(?:multiprocessing|multiprocess)/"
    r"(?:popen_spawn_\w+|popen_forkserver|reduction|queues|connection|spawn)\.py$"
)


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if a process was being started or was being sent work."""
    trouble = named(NAME)
    found = [Sighting(error, True) for error in case.errors(trouble.kinds) if _is_starting(error)]
    fed = [seen for seen in found if _is_feeding(seen.error)]
    started = [seen for seen in found if seen not in fed]
    if started:
        yield telling.story(case, trouble, "The target of a new process cannot be sent to it", started)
    if fed:
        told = telling.story(
            case, trouble, "An object put into a queue cannot be sent to another process", fed
        )
        yield replace(told, cause=_FED)


def _is_feeding(error: LoggedError) -> bool:
    """Return whether a queue's thread failed, whose stack does not show the line that called `put`."""
    return any(
        frame.function == "_feed" and stacks.joined(frame).endswith("/queues.py") for frame in error.frames
    )


def _is_starting(error: LoggedError) -> bool:
    if _SIGN.search(error.said) is None:
        return False
    return any(_STARTING.search(stacks.joined(frame)) for frame in error.frames)
