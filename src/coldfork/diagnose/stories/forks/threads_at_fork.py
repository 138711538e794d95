"""A process with several threads was forked.

## How it is told

By the warning of CPython 3.12 and newer, or by JAX's. Both are only warnings; the process may hang later.
macOS instead kills a child whose Objective-C class was half initialised at the fork, and its words are
recognised as well.

## What else it could be

A child that only executes another program. Then there is no harm.

## Reproduced

CPython's by a program with a thread that forks, on 3.12 and 3.13. JAX's by the text of
`jax/_src/xla_bridge.py` (0.12): not reproduced.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.diagnose.case import Case
from coldfork.diagnose.stories import telling
from coldfork.knowledge.troubles import named
from coldfork.model.diagnosis import Story

NAME = "threads-at-fork"


def tell(case: Case) -> Iterator[Story]:
    """Yield the story, if the log contains its words."""
    trouble = named(NAME)
    yield from telling.by_sign(
        case, trouble, "A process with several threads was forked", bare=trouble.pattern
    )
