"""Tokenizers had started their threads before a fork.

## How it is told

By the warning that the tokenizers library prints in the child.

## What else it could be

Nothing: only tokenizers says so. It is harmless if the child tokenizes little.

## Reproduced

Not reproduced: 0.23.3 prints it only if the child tokenizes. The text is that of `tokenizers/src/lib.rs`.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "tokenizers"


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if the log contains its words."""
    yield from telling.by_sign(case, named(NAME), "Tokenizers had started their threads before a fork")
