"""coldfork's guard refused a fork.

## How it is told

By the `UnsafeForkError` that the guard raises in the parent, in place of the fork. Its message names what
woke the device; that is the culprit. If that was not seen, it is the line that tried to fork.

## What else it could be

Nothing: only coldfork says so.

## Reproduced

By a program that forks under `coldfork.guard("raise")` while the virtual device is awake.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story, Suspect

NAME = "fork-refused"


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, with the line that the guard's message names as the waker."""
    for told in telling.by_sign(case, named(NAME), "coldfork's guard refused a fork"):
        waking = next(iter(case.wakings), None)
        if waking is None:
            yield told
            continue
        chain = (Suspect(waking.place, "the guard's message names it", waking.chain),) if waking.chain else ()
        yield replace(told, culprit=waking.place, suspects=chain)
