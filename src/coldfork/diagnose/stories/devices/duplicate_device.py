"""Two ranks of a program use the same device.

## How it is told

By NCCL's `Duplicate GPU detected`, as part of an error of PyTorch, as NCCL's own warning, or as a line of its
own.

## What else it could be

Nothing: only NCCL and RCCL say so.

## Reproduced

Not reproduced: the text is that of NCCL's `init.cc` (2.22).
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "duplicate-device"
_BARE = r"^(?:.*NCCL WARN )?Duplicate GPU detected ?: rank \d+ and rank \d+ both on CUDA device"


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if the log contains its words."""
    yield from telling.by_sign(case, named(NAME), "Two ranks use the same device", bare=_BARE)
