"""Wait for readable descriptors and points in time, and call the actions for them.

Unlike `select.select`, it can handle descriptors above 1023.
"""

from __future__ import annotations

import os
import select
from _thread import RLock, allocate_lock
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Action = Callable[[], object]

_DAY = 86_400.0


class Loop:
    """Actions for descriptors or points in time; one thread waits and calls them.

    If the loop is shared, other threads may add descriptors while it waits, and remove them before closing
    them. The kernel then keeps the list, which takes one more descriptor.
    """

    def __init__(self, *, shared: bool = False) -> None:
        self._poll = select.epoll() if shared else select.poll()
        self._second = 1 if shared else 1000
        self._actions: dict[int, Action] = {}
        self._due: list[tuple[float, Action]] = []
        self._lock = allocate_lock()

    def watch(self, descriptor: int, action: Action) -> None:
        """Call the action whenever the descriptor is readable, or its other end is closed."""
        with self._lock:
            self._actions[descriptor] = action
            self._poll.register(descriptor, select.POLLIN)

    def forget(self, descriptor: int, action: Action | None = None) -> None:
        """Stop watching a descriptor; with `action`, only if that is the descriptor's action."""
        with self._lock:
            known = self._actions.get(descriptor)
            if known is None or action not in {None, known}:
                return
            del self._actions[descriptor]
            try:
                self._poll.unregister(descriptor)
            except OSError:
                # The descriptor was closed, so the kernel has already forgotten it.
                pass

    def forget_all(self, action: Action) -> None:
        """Stop watching every descriptor that has this action."""
        for descriptor, known in list(self._actions.items()):
            if known == action:
                self.forget(descriptor)

    def watched(self) -> frozenset[int]:
        """Return the descriptors that have an action."""
        return frozenset(self._actions)

    def at(self, moment: float, action: Action) -> None:
        """Call the action once, at this moment."""
        self._due.append((moment, action))

    def turn(self, patience: float | None = None) -> None:
        """Wait for the next event, at most `patience` seconds, and handle it."""
        if self._due:
            left = max(0.0, min(moment for moment, _ in self._due) - monotonic())
            patience = left if patience is None else min(left, patience)
        # The kernel takes 32-bit milliseconds, so a wait lasts at most a day; one extra turn a day costs
        # nothing.
        wait = None if patience is None else min(patience, _DAY) * self._second
        # Look all actions up first: one of them may close a descriptor whose number another thread then
        # reuses.
        ready = [(number, self._actions.get(number)) for number, _ in self._poll.poll(wait)]
        for number, action in ready:
            if action is not None and self._actions.get(number) is action:
                action()
        if self._due:
            now = monotonic()
            due = [action for moment, action in self._due if moment <= now]
            self._due = [(moment, action) for moment, action in self._due if moment > now]
            for action in due:
                action()

    def close(self) -> None:
        """Close the loop's descriptors; no thread may be waiting."""
        if isinstance(self._poll, select.epoll):
            self._poll.close()


class Bell:
    """A way to wake a loop's thread from any thread or signal handler; it does nothing once it is closed."""

    def __init__(self, loop: Loop, action: Action) -> None:
        """`action` is called in the loop once after any number of rings."""
        self._number = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._action = action
        # Reentrant: a signal handler may ring while its own thread is ringing.
        self._lock = RLock()
        loop.watch(self._number, self._heard)

    def ring(self) -> None:
        """Wake the loop, so that it calls the action."""
        with self._lock:
            if self._number >= 0:
                os.eventfd_write(self._number, 1)

    def _heard(self) -> None:
        try:
            os.eventfd_read(self._number)
        except BlockingIOError:
            # An earlier turn has already read this ring.
            pass
        self._action()

    def close(self) -> None:
        """Close the bell, once its loop has ended."""
        with self._lock:
            os.close(self._number)
            self._number = -1


def writable(descriptor: int, seconds: float | None) -> bool:
    """Wait until there is room to write, and return True; False on timeout, or if there is no reader."""
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    ready = poll.poll(None if seconds is None else min(seconds, _DAY) * 1000)
    return any(event & select.POLLOUT for _, event in ready)


def readable(descriptors: Sequence[int], seconds: float | None) -> list[int]:
    """Wait until a descriptor is readable; return all that are, none on timeout."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(None if seconds is None else min(seconds, _DAY) * 1000)]
