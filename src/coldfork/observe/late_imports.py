"""Import coldfork's own modules late in a watched program, while no thread can fork.

A thread that imports a module holds that module's lock. If another thread forks meanwhile, the child has the
lock but not the thread, and waits for ever when it imports the same module. coldfork must not add such cases
to the program's own. So every import that cannot be made at the start goes through `load`, forks wait until
it has ended, and the search for held locks skips it.

No locks are used here, because a fork could leave them locked: threads are recorded in sets, and waited for a
limited time.
"""

from __future__ import annotations

# `importlib._bootstrap` under the name by which it exists before `importlib` does.
import _frozen_importlib
import os
import sys
from _thread import get_ident
from time import monotonic, sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

PATIENCE = 5.0
"""The longest time that a fork waits: the forking thread's own import may hold what coldfork's waits for."""
_TURN = 0.001


class LateImports:
    """The threads that are importing for coldfork, and the threads that are forking."""

    def __init__(self) -> None:
        self._importing: set[int] = set()
        self._forking: set[int] = set()
        self._forked = False

    def listen(self) -> None:
        """Listen to forks; the first listener registered is called last before a fork, and first after it."""
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._before, after_in_parent=self._in_parent, after_in_child=self._in_child
            )

    @property
    def here(self) -> bool:
        """Return whether this thread is importing something for coldfork, and not for the program."""
        return get_ident() in self._importing

    def load(self, name: str) -> None:
        """Import a module, so that later `import` statements for it need no lock.

        In a forked child, raise `ImportError` if a thread that does not exist there holds an import lock.
        """
        if _is_loaded(name):
            return
        if self._forked and _lock_is_lost():
            raise ImportError(
                f"{name}: an import lock is held by a thread that does not exist in this forked process"
            )
        me = get_ident()
        if me in self._importing:
            __import__(name)
            return
        self._importing.add(me)
        try:
            self._give_way(me)
            __import__(name)
        finally:
            self._importing.discard(me)

    def _give_way(self, me: int) -> None:
        until = monotonic() + PATIENCE
        while self._forking - {me} and monotonic() < until:
            self._importing.discard(me)
            sleep(_TURN)
            self._importing.add(me)

    def _before(self) -> None:
        me = get_ident()
        self._forking.add(me)
        until = monotonic() + PATIENCE
        while self._importing - {me} and monotonic() < until:
            sleep(_TURN)

    def _in_parent(self) -> None:
        self._forking.discard(get_ident())

    def _in_child(self) -> None:
        self._forked = True
        self._forking.clear()
        self._importing &= {get_ident()}


def without_late_imports(stack: list[FrameType]) -> list[FrameType]:
    """Return a stack, innermost frame first, without coldfork's own late imports."""
    ours = (place for place in range(len(stack) - 1, -1, -1) if stack[place].f_code is _LOAD)
    return stack[next(ours, -1) + 1 :]


def _is_loaded(name: str) -> bool:
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return spec is not None and not getattr(spec, "_initializing", False)


def _lock_is_lost() -> bool:
    """Return whether an import lock belongs to a thread of the parent that does not exist here."""
    locks: dict[str, Callable[[], Any]] = getattr(_frozen_importlib, "_module_locks", {})
    owners = {getattr(lock(), "owner", None) for lock in list(locks.values())}
    return not owners <= {None, *sys._current_frames()}


_LOAD = LateImports.load.__code__

# Shared by the whole process, like `sys.modules`.
LATE = LateImports()
LATE.listen()
