"""Descriptors that a thread waits for, and what it does when one of them can be read."""

from __future__ import annotations

import select
import threading
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Readiness:
    """One thread waits; any may add descriptors and take them away, before they are closed."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._actions: dict[int, Callable[[], object]] = {}
        self._lock = threading.Lock()

    def add(self, descriptor: int, action: Callable[[], object]) -> None:
        """Do this whenever there is something to be read."""
        with self._lock:
            self._actions[descriptor] = action
            self._poll.register(descriptor, select.EPOLLIN)

    def forget(self, descriptor: int, action: Callable[[], object] | None = None) -> None:
        """Do it no longer; if an action is named, only where the number is not yet another one's."""
        with self._lock:
            if descriptor in self._actions and action in {None, self._actions[descriptor]}:
                del self._actions[descriptor]
                with suppress(OSError):
                    self._poll.unregister(descriptor)

    def see_to(self, patience: float | None = None) -> None:
        """Wait, but not longer than this, and do what there is to be done."""
        ready = self._poll.poll(patience)
        # One action may close what the next is about, and another thread open a file that has its number.
        due = [(descriptor, self._actions.get(descriptor)) for descriptor, _ in ready]
        for descriptor, action in due:
            if action is not None and self._actions.get(descriptor) is action:
                action()

    def close(self) -> None:
        """Wait for nothing any more."""
        self._poll.close()
