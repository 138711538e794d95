"""What a supervisor waits for: descriptors that can be read, and moments that come."""

from __future__ import annotations

import select
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Action = Callable[[], None]


class Waiting:
    """Actions, each for a descriptor or for a moment."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._actions: dict[int, Action] = {}
        self._due: list[tuple[float, Action]] = []

    def watch(self, descriptor: int, action: Action) -> None:
        """Do this whenever the descriptor can be read."""
        self._actions[descriptor] = action
        self._poll.register(descriptor, select.POLLIN)

    def forget(self, descriptor: int) -> None:
        """Watch a descriptor no more."""
        if self._actions.pop(descriptor, None) is not None:
            self._poll.unregister(descriptor)

    def forget_all(self, action: Action) -> None:
        """Watch no descriptor any more for which this was to be done."""
        for descriptor, known in list(self._actions.items()):
            if known == action:
                self.forget(descriptor)

    def at(self, moment: float, action: Action) -> None:
        """Do this once, when the moment has come."""
        self._due.append((moment, action))

    def turn(self) -> None:
        """Wait for the next thing to happen, and see to it."""
        wait = None
        if self._due:
            wait = max(0.0, min(moment for moment, _ in self._due) - monotonic()) * 1000 + 1
        for descriptor, _ in self._poll.poll(wait):
            action = self._actions.get(descriptor)
            if action is not None:
                action()
        now = monotonic()
        due = [action for moment, action in self._due if moment <= now]
        self._due = [(moment, action) for moment, action in self._due if moment > now]
        for action in due:
            action()
