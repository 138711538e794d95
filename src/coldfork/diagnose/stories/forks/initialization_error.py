"""A driver refused to be initialised again in a forked child.

## How it is told

By numba's `CUDA initialized before forking`, and by error 3 of CUDA or HIP (`initialization error`,
`CUDA_ERROR_NOT_INITIALIZED`) as the message of an error, if the log shows that the process is a child: its
stack begins where a worker begins, or its name says so. Otherwise it is told as possible, because a driver
that does not work at all gives the same error; so is the line that TensorFlow and JAX write themselves.

## What else it could be

A driver that does not work on this machine, not even in the parent: `nvidia-smi` says whether it does.

## Reproduced

The texts are those of `cudaGetErrorString` and `cuGetErrorName` (CUDA 12), `c10/cuda/CUDAFunctions.cpp` of
PyTorch 2.9, cupy's `CUDARuntimeError` and numba's `CudaAPIError`; not reproduced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coldfork.diagnose import stacks
from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.diagnose.stories.recognition import sightings
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Confidence, Story

NAME = "initialization-error"
_BARE = r"^.*\.cc:\d+\] (?:failed call to cuInit|[Ff]ailed setting context): .*CUDA_ERROR_NOT_INITIALIZED"


def tell(case: Case) -> Iterator[Story]:
    """Yield the story; how sure it is depends on whether the log shows that the process was forked."""
    found = sightings(case.log, named(NAME), bare=_BARE)
    if not found:
        return
    told = telling.story(case, named(NAME), "The driver refused to be initialised in this process", found)
    forked = [process for process in told.processes if process.started == "fork"]
    children = [process for process in told.processes if process.role == "child" and process.started is None]
    site = next(
        (
            (frame, sighting.error.frames)
            for sighting in found
            if (frame := stacks.import_site(sighting.error.frames)) is not None
        ),
        None,
    )
    numba = any("before forking" in sighting.error.message for sighting in found)
    sure = Confidence.CERTAIN if forked or numba else Confidence.LIKELY if children else Confidence.POSSIBLE
    culprit = case.wakings[0].place if case.wakings else telling.place(*site) if site else told.culprit
    yield replace(told, confidence=sure, culprit=culprit, accelerator="cuda")
