"""The examination before a fork: what would break the child, at the price of some microseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coldfork.start.evidence import table
from coldfork.start.guard import remedies
from coldfork.start.guard.unchanged import Unchanged
from coldfork.start.process import snapshot

if TYPE_CHECKING:
    from coldfork.model.decisions import Reason
    from coldfork.start.guard.observation import WakeObservation


class ForkExamination:
    """Asks what speaks against a fork, and asks again only when something has changed."""

    def __init__(self) -> None:
        self._examined: object = None
        self._unchanged: Unchanged | None = None
        self._snapshot = snapshot.HERE
        self._remember = snapshot.HERE.examination.lineage.remember

    def against(self, observation: WakeObservation | None) -> tuple[Reason, ...]:
        """What would break a child that this thread forks now; noted for the child, too."""
        unchanged = self._unchanged
        vetoes: tuple[Reason, ...] = ()
        if unchanged is None or not unchanged.still():
            vetoes = self._anew(observation)
        # So that the child can tell poisoned from cold.
        self._remember(self._snapshot.latest)
        return vetoes

    def _anew(self, observation: WakeObservation | None) -> tuple[Reason, ...]:
        if self._unchanged is None:
            self._begin_comparing(observation)
        unchanged = self._unchanged
        # Taken before, so that a change in the middle is one since.
        key = None if unchanged is None else unchanged.key()
        found = table.against_fork()
        if self._snapshot.latest is not self._examined:
            # Only what has changed can have been woken since, and then it is good to know by whom.
            self._examined = self._snapshot.latest
            if observation is not None:
                observation.poll()
                found = table.against_fork()
        vetoes = tuple(reason for reason in found if reason.vetoes)
        if unchanged is not None:
            unchanged.note(None if vetoes else key)
        return remedies.exact(vetoes, self._snapshot.examination.loader) if vetoes else ()

    def _begin_comparing(self, observation: WakeObservation | None) -> None:
        """From the second examination on: many a process forks once."""
        poller = observation.poller if observation is not None else None
        if self._examined is not None and poller is not None:
            self._unchanged = Unchanged(poller, self._snapshot)
