"""Troubles of accelerator work: how each shows, why it happens, and its remedies.

They are data, so that code that recognises a trouble can quote its cause and remedies. The pages of the
stories of `coldfork explain` are written from them, and those without a story stand in the list of stories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from coldfork.knowledge.troubles.devices import DEVICES
from coldfork.knowledge.troubles.entry import Trouble
from coldfork.knowledge.troubles.forks import FORKS
from coldfork.knowledge.troubles.starting import STARTING

__all__ = ["TROUBLES", "Trouble", "named", "seen_in"]

TROUBLES = (*FORKS, *STARTING, *DEVICES)


def named(name: str) -> Trouble:
    """Return the trouble with this name."""
    return next(trouble for trouble in TROUBLES if trouble.name == name)


def seen_in(text: str) -> Iterator[Trouble]:
    """Yield the troubles whose symptoms occur in a program's output."""
    for trouble in TROUBLES:
        if trouble.pattern is not None and re.search(trouble.pattern, text):
            yield trouble
