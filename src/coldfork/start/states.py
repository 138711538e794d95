"""The state of every accelerator and fork-unsafe runtime in this process, and its waker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldfork.model.states import Level, State, Status
from coldfork.start.process import HERE
from coldfork.start.wakers import WAKERS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coldfork.observe.probes.reading import Reading


def state() -> tuple[State, ...]:
    """Return the state of every accelerator and fork-unsafe runtime in this process now; nothing is woken.

    The waker is known if the process was watched at the time of the wake; else it is None.
    """
    return as_states(HERE.readings())


def as_states(readings: Iterable[Reading]) -> tuple[State, ...]:
    """Return readings as states, with their wakers."""
    return tuple(
        State(
            accelerator=one.accelerator,
            status=Status(one.status),
            level=None if one.level is None else Level(one.level),
            reason=one.reason,
            library=one.library,
            waker=WAKERS.of(one.accelerator),
            survives_fork=one.survives_fork,
        )
        for one in readings
    )
