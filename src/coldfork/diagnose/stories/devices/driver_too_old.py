"""The driver is older than the CUDA that the framework was built for.

## How it is told

By PyTorch's warning or error, even if only its words were copied, or by CUDA's error 35.

## What else it could be

CUDA compatibility libraries in a container that do not fit the machine's driver.

## Reproduced

Not reproduced: the texts are those of `c10/cuda/CUDAFunctions.cpp` and of `cudaGetErrorString` (CUDA 12).
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "driver-too-old"
_BARE = r"^The NVIDIA driver on your system is too old \(found version"


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if the log contains its words."""
    title = "The driver is older than the CUDA that the framework was built for"
    yield from telling.by_sign(case, named(NAME), title, bare=_BARE)
