"""The shared memory of the machine or the container is full.

## How it is told

By PyTorch's error about a worker of a DataLoader that died of SIGBUS or about a tensor that it could not
share, or by NCCL's error about its segment, which follows a warning of NCCL's.

## What else it could be

A worker that reads a mapped file while the file shrinks.

## Reproduced

Not reproduced: the texts are those of `torch/utils/data/_utils/signal_handling.py`,
`torch/csrc/DataLoader.cpp`, `aten/src/ATen/MapAllocator.cpp` and NCCL's `misc/shmutils.cc`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.diagnose.stories.recognition import Sighting, sightings
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "shared-memory"
_BARE = (
    r"^.*NCCL WARN .*(?:Error while creating shared memory segment|failed to extend) /dev/shm/nccl"
    r"|unable to write to file </torch_|Unexpected bus error encountered in worker\."
)


_OTHER = re.compile(
    r"(?:Permission denied|Operation not permitted|No such file or directory|Too many open files|File exists"
    r"|Cannot allocate memory|Read-only file system)"
)
_NEAR = 2
"""NCCL reports the result of the system call at most this many lines above its final message."""


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if the log contains its words."""
    title = "The shared memory of the machine or the container is full"
    found = [
        seen for seen in sightings(case.log, named(NAME), bare=_BARE) if not _has_other_reason(case, seen)
    ]
    if found:
        yield telling.story(case, named(NAME), title, found)


def _has_other_reason(case: Case, sighting: Sighting) -> bool:
    """Return whether NCCL failed to make its segment for a reason other than lack of space."""
    near = [
        line.text
        for line in case.log.lines
        if line.speaker == sighting.error.speaker and 0 <= sighting.error.line_number - line.number <= _NEAR
    ]
    said = " ".join((*near, sighting.error.said))
    return "NCCL" in said and _OTHER.search(said) is not None and "No space left" not in said
