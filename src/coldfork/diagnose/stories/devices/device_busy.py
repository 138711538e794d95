"""Another process holds the device, which admits only one at a time.

## How it is told

By CUDA's error 46, as the message of an error.

## What else it could be

A device that fell off the bus, or whose driver is being reset.

## Reproduced

Not reproduced: the text is that of `cudaGetErrorString` (CUDA 12).
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "device-busy"


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if the log contains its words."""
    yield from telling.by_sign(
        case, named(NAME), "Another process holds the device, which admits only one at a time"
    )
