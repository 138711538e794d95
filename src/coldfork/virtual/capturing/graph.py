"""A captured graph: what was recorded, to be executed on the same memory as often as asked."""

from __future__ import annotations

import threading
from typing import Any

from coldfork.virtual.capturing.errors import ReplayError
from coldfork.virtual.capturing.memory.ownership import Holdings, Pool
from coldfork.virtual.capturing.process import refuse_while_capturing
from coldfork.virtual.capturing.records import RecordedRegion
from coldfork.virtual.capturing.replay.execution import execute, require_sizes
from coldfork.virtual.capturing.replay.explanation import PoisonRead, explain


class Graph(RecordedRegion):
    """What a captured region recorded, to be executed on the same memory as often as asked."""

    def __init__(self, pool: Pool, holdings: Holdings) -> None:
        super().__init__(pool, holdings)
        self.replays = 0
        """How often the graph was replayed."""
        self._lock = threading.Lock()

    def replay(self) -> None:
        """Execute what was recorded, on the memory it was recorded with."""
        self._require_ready()
        with self._lock:
            self._poison_freed()
            execute(self._records)
            if not self.replays:
                require_sizes(self._records)
            self.replays += 1

    def explain_poison(self, tensor: Any = None) -> PoisonRead | None:
        """Which operator, on which line, read uninitialised memory, so that this tensor holds poison.

        Without a tensor: the first operator of the graph that does. None when there is none. The graph is
        replayed once for it, and all memory is left as it was.
        """
        self._require_ready()
        with self._lock:
            self._poison_freed()
            return explain(self, tensor)

    def _poison_freed(self) -> None:
        self._holdings.settle()
        for memory in self._outside:
            memory.poison_if_freed()

    def reset(self) -> None:
        """Forget the records and give up their memory; the graph cannot be replayed any more."""
        self._require_ready()
        self._drop()
        self._state = "reset"

    def _require_ready(self) -> None:
        refuse_while_capturing("replaying a graph")
        if self._state != "ready":
            raise ReplayError(
                {
                    "capturing": "this graph is still being captured; replay it after the `with` block",
                    "failed": "this graph's capture failed, so there is nothing to replay; capture it anew",
                    "reset": "this graph was reset; capture it anew",
                }[self._state]
            )

    def __repr__(self) -> str:
        return f"<captured graph, {len(self._records)} operators, {self._state}>"
