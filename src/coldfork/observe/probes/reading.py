"""One probe's answer: the fields of `coldfork.model.states.State`, without importing that class.

Dataclasses and enumerations take longer to import than everything else here together, and a watched program
may not need them. `state_of` makes a `State` from a reading if one is wanted.
"""

from __future__ import annotations

from coldfork.observe.late_imports import LATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from coldfork.model.states import State

    Awake = tuple[tuple[str, str | None], ...]
    """The accelerators that are awake, each with its level if it has one."""

# The values of `Status` and `Level`: a test compares them with the enumerations.
ABSENT: Final = "absent"
COLD: Final = "cold"
AWAKE: Final = "awake"
POISONED: Final = "poisoned"
UNKNOWN: Final = "unknown"

DRIVER: Final = "driver"
CONTEXT: Final = "context"


class Reading:
    """One accelerator's state, as one probe sees it."""

    __slots__ = ("accelerator", "copied", "level", "library", "reason", "status", "survives_fork")

    def __init__(
        self,
        accelerator: str,
        status: str,
        reason: str | None = None,
        library: str | None = None,
        *,
        level: str | None = None,
        copied: bool = False,
        survives_fork: bool = False,
    ) -> None:
        self.accelerator: str = accelerator
        self.status: str = status
        self.level: str | None = level
        self.reason: str | None = reason
        self.library: str | None = library
        self.copied: bool = copied
        """True if a fork would have copied what was seen, so that it proves nothing about this process
        itself.
        """
        self.survives_fork: bool = survives_fork
        """True if its own fork handlers let a child continue without what the parent has of it."""

    def turned(self, status: str, reason: str) -> Reading:
        """Return the same accelerator and library in another state, without a level."""
        return Reading(self.accelerator, status, reason, self.library)

    def as_object(self) -> dict[str, str | None]:
        """Return the reading as an entry of a recording, without the fields that are not set."""
        known = ("accelerator", "status", "level", "reason", "library")
        return {name: getattr(self, name) for name in known}

    def __repr__(self) -> str:
        return f"<{self.accelerator} {self.status} {self.level} {self.reason!r} {self.library}>"


def failed(accelerator: str, error: Exception) -> Reading:
    """Return the reading for an accelerator whose probe failed."""
    return Reading(accelerator, UNKNOWN, f"the probe failed: {type(error).__name__}: {error}")


def deeper(one: str | None, two: str | None) -> str | None:
    """Return the deeper of two levels; None means an unknown level."""
    return CONTEXT if CONTEXT in (one, two) else one or two


def state_of(reading: Reading) -> State:
    """Return the reading as a `State` of the model."""
    # Imported on demand, because dataclasses and enumerations cost more than everything above.
    LATE.load("coldfork.model.states")
    from coldfork.model.states import Level, State, Status

    return State(
        accelerator=reading.accelerator,
        status=Status(reading.status),
        level=None if reading.level is None else Level(reading.level),
        reason=reading.reason,
        library=reading.library,
        survives_fork=reading.survives_fork,
    )
