"""One import in progress, and those that have ended and are not told of yet."""

from __future__ import annotations

import os
from _thread import get_native_id
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldfork.observe.recording.events import Ended

_MOST_WAITING = 256
_OWN = "coldfork.observe."
_LONGEST_WAIT = 0.25
"""After so many loads or seconds they are told: a process that is killed takes the rest along."""


class Load:
    """A module that is being loaded; not a dataclass, because thousands are made while a program starts."""

    __slots__ = ("name", "parent", "path", "spec", "start")

    def __init__(self, name: str, path: str | None, spec: Any, start: float, parent: Load | None) -> None:
        self.name = name
        self.path = path
        self.spec = spec
        self.start = start
        self.parent = parent


class EndedLoads:
    """Loads that have ended and are told of together a moment later: one by one, that costs most."""

    __slots__ = ("_told", "waiting")

    def __init__(self) -> None:
        self.waiting: list[tuple[Load, float, int, int]] = []
        self._told = 0.0

    def add(self, load: Load, ended: float) -> bool:
        """Note a load; true when it is time to tell: the program comes to rest here, or much is waiting."""
        waiting = self.waiting
        waiting.append((load, ended, os.getpid(), get_native_id()))
        return load.parent is None or len(waiting) >= _MOST_WAITING or ended - self._told > _LONGEST_WAIT

    def take(self, began: float) -> list[Ended]:
        """What this process has loaded since the last time, oldest first, but for what the watch loads."""
        waiting, here, events = self.waiting, os.getpid(), []
        while waiting:
            try:
                load, ended, pid, tid = waiting.pop()
            except IndexError:  # another thread was faster
                break
            # After a fork that Python did not see, the parent tells its own.
            if pid == here and not load.name.startswith(_OWN):
                parent = load.parent
                events.append(
                    (
                        load.name,
                        load.path,
                        load.start - began,
                        ended - load.start,
                        None if parent is None else parent.name,
                        ended - began,
                        pid,
                        tid,
                    )
                )
        self._told = monotonic()
        events.reverse()
        return events
