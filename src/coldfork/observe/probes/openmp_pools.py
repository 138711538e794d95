"""Find the thread to whose pool a worker of libgomp belongs; libgomp has no function for this.

libgomp keeps one pool for every thread that runs parallel regions. A fork copies the forking thread and its
knowledge of its pool, but not the pool's threads: the child waits for them for ever. The pools of other
threads do no harm. When libgomp starts a worker, it passes a record that is on the starting thread's stack,
and the C library keeps the record's address. So the stack that contains this address belongs to the pool's
owner.
"""

from __future__ import annotations

import os
import sys
from _thread import get_ident, get_native_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from coldfork.observe.probes.loader import Loader
    from coldfork.observe.probes.threads import NativeThread

Stack = tuple[int, int]
_ATTRIBUTES_BYTES = 256
"""More than `pthread_attr_t` takes on any machine."""


class Stacks:
    """The address ranges of the stacks of this process's Python threads."""

    def __init__(self, loader: Loader, first: Callable[[], Stack | None]) -> None:
        """`first` returns the stack of the process's first thread, or None if that is not the main thread."""
        c = loader.ctypes
        # `PyDLL` keeps the interpreter's lock during calls, so no Python thread ends during a query.
        program = c.PyDLL(None)
        self._c = c
        self._attributes: Any = program.pthread_getattr_np
        self._attributes.argtypes = (c.c_void_p, c.c_void_p)
        self._stack: Any = program.pthread_attr_getstack
        self._stack.argtypes = (c.c_void_p, c.c_void_p, c.c_void_p)
        self._destroy: Any = program.pthread_attr_destroy
        self._destroy.argtypes = (c.c_void_p,)
        self._first = first
        self._main: tuple[int, int, Stack | None] | None = None

    def mine(self) -> Stack | None:
        """Return the lowest address of the calling thread's stack, and the first address above the stack."""
        here, pid = get_ident(), os.getpid()
        if get_native_id() != pid:
            return self._of(here)
        # Kept, because to find the main thread's stack, which never moves, glibc reads the whole memory map.
        if self._main is None or self._main[:2] != (here, pid):
            self._main = (here, pid, self._first() or self._of(here))
        return self._main[2]

    def others(self) -> list[Stack]:
        """Return the stacks of all other Python threads."""
        found = [self._of(ident) for ident in sys._current_frames() if ident != get_ident()]
        return [stack for stack in found if stack is not None]

    def _of(self, ident: int) -> Stack | None:
        c = self._c
        attributes = c.create_string_buffer(_ATTRIBUTES_BYTES)
        if self._attributes(ident, attributes):
            return None
        lowest, size = c.c_void_p(), c.c_size_t()
        failed = self._stack(attributes, c.byref(lowest), c.byref(size))
        self._destroy(attributes)
        known = not failed and lowest.value is not None
        return (lowest.value, lowest.value + size.value) if known else None


def belongs_to_this_thread(worker: NativeThread, stacks: Stacks) -> bool | None:
    """Return whether a worker of libgomp is in the calling thread's pool; None if that is unknown."""
    if not worker.argument:
        return None
    mine = stacks.mine()
    if mine is None:
        return None
    if _holds(mine, worker.argument):
        return True
    return False if any(_holds(stack, worker.argument) for stack in stacks.others()) else None


def _holds(stack: Stack, address: int) -> bool:
    return stack[0] <= address < stack[1]
