"""Whose pool of libgomp a worker belongs to: the question that libgomp has no function for.

libgomp keeps one pool for every thread that runs parallel regions. A fork copies the forking thread and its
knowledge of its pool, and not the pool's threads: the child waits for them for ever. The pools of other
threads do it no harm. When libgomp starts a worker it hands it a record that lies on the stack of the thread
that starts it, and the C library keeps the address of that record. So the stack that holds the address is
that of the pool's owner.
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
    """Where the stacks of this process's Python threads lie."""

    def __init__(self, loader: Loader, first: Callable[[], Stack | None]) -> None:
        """`first` tells the stack of the program's first thread; None where that may not be the main one."""
        c = loader.ctypes
        # With the interpreter's lock held, no Python thread can come to its end while its stack is asked for.
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
        """The lowest address of the asking thread's stack, and the first one above it."""
        here, pid = get_ident(), os.getpid()
        if get_native_id() != pid:
            return self._of(here)
        # glibc reads the whole memory map to tell the stack of the main thread, which never moves.
        if self._main is None or self._main[:2] != (here, pid):
            self._main = (here, pid, self._first() or self._of(here))
        return self._main[2]

    def others(self) -> list[Stack]:
        """The stacks of all other Python threads."""
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
    """Whether a worker of libgomp is in the pool of the asking thread; None when that cannot be told."""
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
