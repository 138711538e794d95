"""The fork server died before it could start a process.

## How it is told

By an EOFError or a ConnectionError below multiprocessing's `popen_forkserver.py` or `forkserver.py`: the
server closed the pipe without an answer, which it does if a module to preload fails, or if it is killed.

## What else it could be

A server that was killed, by the system for lack of memory, or along with its process group.

## Reproduced

By a script whose preloaded module ends the interpreter.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose import stacks
from coldfork.diagnose.case import Case
from coldfork.diagnose.logs.records import LoggedError
from coldfork.diagnose.stories import telling
from coldfork.diagnose.stories.recognition import Sighting
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "forkserver-eof"
_FILES = ("multiprocessing/forkserver.py", "multiprocessing/popen_forkserver.py")


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if a process got no answer from its fork server."""
    kinds = ("EOFError", "ConnectionResetError", "ConnectionRefusedError", "BrokenPipeError")
    found = [Sighting(error, True) for error in case.errors(kinds) if _is_parent(error)]
    if found:
        yield telling.story(case, named(NAME), "The fork server died before it could start a process", found)


def _is_parent(error: LoggedError) -> bool:
    """Return whether a process was using its fork server's pipe, with only library calls in between."""
    for frame in reversed(error.frames):
        if stacks.joined(frame).endswith(_FILES):
            return True
        if not stacks.is_standard(frame):
            return False
    return False
