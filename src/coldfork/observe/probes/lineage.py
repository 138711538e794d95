"""Distinguish poisoned from cold in a forked child, by the readings of its parent.

In a child forked from an awake process, a driver answers as if it had never been touched, and a thread pool
seems never to have existed. Only the parent's state, recorded just before the fork, shows the difference.
"""

from __future__ import annotations

import os
from _thread import get_ident

from coldfork.observe.probes import tokenizers
from coldfork.observe.probes.reading import ABSENT, AWAKE, COLD, POISONED, UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from coldfork.model.states import State
    from coldfork.observe.probes.process import ProbedProcess
    from coldfork.observe.probes.reading import Reading

_HARMFUL = (AWAKE, POISONED)
_UNRECORDED = "this process was forked, and the state of its parent was not recorded"


class Lineage:
    """The readings that a parent leaves for its forked children."""

    def __init__(self) -> None:
        self._born = os.getpid()
        self._registered = False
        self._about_to_fork: dict[int, dict[str, Reading]] = {}
        self._heir: int | None = None
        self._inherited: dict[str, Reading] | None = None
        self._absences: set[tuple[int, str]] = set()

    def remember(self, readings: Iterable[Reading]) -> None:
        """Record this process's state for the child that this thread is about to fork."""
        self._about_to_fork[get_ident()] = {reading.accelerator: reading for reading in readings}
        self.attend_forks()

    def attend_forks(self) -> None:
        """From now on, pass the readings recorded for a fork to its child, before later fork handlers run.

        Nothing is passed on at a fork that Python does not see, such as one by C code: readings for an
        earlier fork may be wrong by then.
        """
        if not self._registered:
            self._registered = True
            os.register_at_fork(after_in_parent=self._forget, after_in_child=self._adopt)

    def _forget(self) -> None:
        self._about_to_fork.pop(get_ident(), None)

    def _adopt(self) -> None:
        # The forking thread is the child's only thread, and keeps its identifier.
        self._inherited = self._about_to_fork.pop(get_ident(), None)
        self._heir = os.getpid()
        self._about_to_fork.clear()

    @property
    def recorded(self) -> Mapping[str, Reading] | None:
        """Return the parent's readings, if this process is a child and has any."""
        return self._inherited if self._heir == os.getpid() else None

    def poisons(self, accelerator: str) -> bool:
        """Return whether this accelerator was awake or poisoned in the parent, according to its readings."""
        earlier = (self.recorded or {}).get(accelerator)
        return earlier is not None and earlier.status in _HARMFUL

    def judge(
        self, reading: Reading, process: ProbedProcess, parent: Mapping[str, Reading | State] | None = None
    ) -> Reading:
        """Return the reading of this process, corrected by its parent's reading if it was forked."""
        recorded: Mapping[str, Reading | State] | None = parent if parent is not None else self.recorded
        if recorded is None:
            return self._without_record(reading, process)
        earlier = recorded.get(reading.accelerator)
        return reading if earlier is None else _inherit(reading, earlier, process)

    def _without_record(self, reading: Reading, process: ProbedProcess) -> Reading:
        here = (os.getpid(), reading.accelerator)
        if reading.status == ABSENT:
            self._absences.add(here)
        doubtful = reading.status == COLD or (reading.status == AWAKE and reading.copied)
        # An accelerator that was absent here at first cannot have been inherited.
        if not doubtful or here in self._absences or not self._forked(process):
            return reading
        seems = "it looks awake and may be" if reading.status == AWAKE else "it looks cold and may be"
        return reading.turned(UNKNOWN, f"{_UNRECORDED}: {seems} poisoned")

    def _forked(self, process: ProbedProcess) -> bool:
        forked = process.forked
        return os.getpid() != self._born if forked is None else forked


def _inherit(reading: Reading, earlier: Reading | State, process: ProbedProcess) -> Reading:
    if earlier.status in _HARMFUL:
        if reading.accelerator == tokenizers.ACCELERATOR and tokenizers.survives_fork(process):
            return reading
        level = f", level {earlier.level}" if earlier.level else ""
        was = "was poisoned itself" if earlier.status == POISONED else f"had it awake{level}"
        return reading.turned(POISONED, f"this process was forked from one that {was}")
    if earlier.status == UNKNOWN and reading.status in (COLD, ABSENT):
        return reading.turned(UNKNOWN, f"in the process this one was forked from: {earlier.reason}")
    return reading
