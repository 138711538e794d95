"""Troubles of accelerator work: how each shows, why it happens, and its remedies.

They are data, so that code that recognises a trouble can quote its cause and remedies. The page
`docs/how-to/starting-troubles.md` is written from them, and `coldfork explain` uses them for its stories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from coldfork.knowledge.troubles.devices import DEVICES
from coldfork.knowledge.troubles.entry import Trouble
from coldfork.knowledge.troubles.forks import FORKS
from coldfork.knowledge.troubles.starting import STARTING

__all__ = ["TROUBLES", "Trouble", "named", "page", "seen_in"]

TROUBLES = (*FORKS, *STARTING, *DEVICES)


def named(name: str) -> Trouble:
    """Return the trouble with this name."""
    return next(trouble for trouble in TROUBLES if trouble.name == name)


def seen_in(text: str) -> Iterator[Trouble]:
    """Yield the troubles whose symptoms occur in a program's output."""
    for trouble in TROUBLES:
        if trouble.pattern is not None and re.search(trouble.pattern, text):
            yield trouble


def _to_do(trouble: Trouble) -> str:
    if len(trouble.remedies) == 1:
        return f"**What to do:** {trouble.remedy}"
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(trouble.remedies, 1))
    return f"**What to do**, the best first:\n\n{listed}"


def page() -> str:
    """Return the documentation page of all troubles."""
    parts = [
        "# When starting accelerator work fails",
        (
            "What is seen, why, and what to do. This page is written from `coldfork.knowledge.troubles`; "
            "[`coldfork explain`](explain.md) recognises them in a log."
        ),
    ]
    for trouble in TROUBLES:
        parts += [f"## {trouble.name}", f"**Seen:** {trouble.sign}", f"**Why:** {trouble.cause}"]
        parts.append(_to_do(trouble))
        if trouble.command is not None:
            parts.append(f"```sh\n{trouble.command}\n```")
    return "\n\n".join(parts) + "\n"
