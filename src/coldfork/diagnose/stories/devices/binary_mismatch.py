"""A compiled extension does not fit the PyTorch that is installed.

## How it is told

By the loader's `undefined symbol` where the symbol is PyTorch's or CUDA's, as the message of an ImportError,
and by torchvision's missing operator. Nothing is told about an undefined symbol of another library. The
culprit is the line that imports the extension.

## What else it could be

Nothing, if the symbol is PyTorch's.

## Reproduced

Not reproduced: the texts are those of glibc's `dl-lookup.c` and of `torchvision/_meta_registrations.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "binary-mismatch"


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if the log contains its words."""
    title = "A compiled extension does not fit the PyTorch that is installed"
    yield from telling.by_sign(case, named(NAME), title, asked=True)
