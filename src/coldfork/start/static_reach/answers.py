"""Answers to the question whether importing a module would wake a device.

They come from a `Reach`, which is a function from a target to an answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from coldfork.start.targets import Target

    Reach = Callable[["Target"], "ReachAnswer"]


class Reached(StrEnum):
    """Whether an import wakes a device."""

    WAKES = "wakes"
    """It runs a line that wakes a device."""
    NOTHING = "nothing"
    """It runs no line that wakes a device, as far as the source shows."""
    UNKNOWN = "unknown"
    """It is unknown whether it does; the reason says why."""


@dataclass(frozen=True, slots=True)
class ReachAnswer:
    """The answer for the import of one module."""

    module: str
    reached: Reached
    reason: str | None = None
    """Why the answer is unknown, or the condition on which the import wakes a device."""
    accelerator: str | None = None
    verdict: str | None = None
    path: str | None = None
    line: int | None = None

    @classmethod
    def unknown(cls, module: str, reason: str) -> ReachAnswer:
        """Return the answer for a module about which nothing is known."""
        return cls(module, Reached.UNKNOWN, reason)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a module's source."""

    module: str
    """The name under which it is checked; for a script, the name of the file."""
    root: str
    """The folder that holds its top-level package."""
    path: str
    """The path to check: the top-level package, or the folder of a single module."""
