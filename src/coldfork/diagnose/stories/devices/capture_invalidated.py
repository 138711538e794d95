"""Something that cannot be recorded ran while a CUDA graph was captured.

## How it is told

By CUDA's errors 900 to 907, as the message of an error. A capture that broke off because something was
first used in it is [lazy-state-in-capture](lazy-state-in-capture.md).

## What else it could be

Work of another thread on the legacy stream during the capture.

## Reproduced

Not reproduced: the texts are those of `cudaGetErrorString` (CUDA 12).
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.diagnose.stories.devices import lazy_state_in_capture
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "capture-invalidated"


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if the log contains its words and no other story explains the broken capture."""
    if lazy_state_in_capture.is_first_use(case):
        return
    yield from telling.by_sign(
        case, named(NAME), "Something that cannot be recorded ran while a CUDA graph was captured"
    )
