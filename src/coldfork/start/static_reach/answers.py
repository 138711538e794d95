"""Answers about how far importing a module would reach towards a device.

They come through a port, `Reach`: a function from a target to an answer.
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
    """How far an import reaches."""

    WAKES = "wakes"
    """A line that wakes a device."""
    NOTHING = "nothing"
    """No line that wakes a device, as far as can be read."""
    UNKNOWN = "unknown"
    """It could not be found out; the reason says why."""


@dataclass(frozen=True, slots=True)
class ReachAnswer:
    """How far the import of one module reaches."""

    module: str
    reached: Reached
    reason: str | None = None
    """Why it is unknown, or on what condition it wakes a device."""
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
    """The name under which it is checked; for a script, that of the file."""
    root: str
    """The folder that holds its top package."""
    path: str
    """The path to check: the top package, or the folder of a lone module."""
