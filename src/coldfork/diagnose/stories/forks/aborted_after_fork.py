"""A forked worker was aborted when it released device state that it had inherited.

## How it is told

By the C++ runtime's words about an uncaught exception: `what():` and CUDA's error 3.

## What else it could be

A C++ thread of a forked process that uses the device for the first time. The remedy is the same.

## Reproduced

Not reproduced here: it needs a device. Known from speculators, whose DataLoader forked its workers while the
model was on the device; its run succeeded but ended with SIGABRT.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "aborted-after-fork"


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if the log contains its words."""
    yield from telling.by_sign(
        case, named(NAME), "A forked worker was aborted when it released device state that it had inherited"
    )
