"""The shared memory of the machine or the container is full.

## How it is told

By PyTorch's error about a worker of a DataLoader that died of SIGBUS or about a tensor that it could not
share, or by NCCL's about its segment, which it writes as a warning of its own first.

## What else it could be

A worker that reads a file which shrinks while it is mapped.

## Reproduced

Not reproduced: the texts are those of `torch/utils/data/_utils/signal_handling.py`,
`torch/csrc/DataLoader.cpp`, `aten/src/ATen/MapAllocator.cpp` and NCCL's `misc/shmutils.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "shared-memory"
_BARE = (
    r"^.*NCCL WARN .*(?:Error while creating shared memory segment|failed to extend) /dev/shm/nccl"
    r"|unable to write to file </torch_"
)


def tell(case: Case) -> Iterator[Story]:
    """The story, if the words stand in the log."""
    title = "The shared memory of the machine or the container is full"
    yield from telling.by_sign(case, named(NAME), title, bare=_BARE)
