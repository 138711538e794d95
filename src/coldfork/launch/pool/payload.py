"""Pack values that travel between a pool and its workers, and reduce the objects in them.

Every worker imports this module, so it imports little.
"""

from __future__ import annotations

import copyreg
import os
from errno import EMFILE
from functools import cache
from multiprocessing.reduction import ForkingPickler

from coldfork.launch.plumbing import channel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_OPEN = ("multiprocessing.connection", "socket", "_socket")
"""The modules of open files and sockets, which multiprocessing can reopen in another process.

Only their reducers are used: with torch, multiprocessing would also share a tensor's memory, but here tensors
are copied like everything else.
"""


def reducers() -> dict[type, Callable[[Any], Any]]:
    """Return reducers for classes that `pickle` itself cannot reduce."""
    known = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    return _joined(len(copyreg.dispatch_table), len(known))


@cache
def _joined(_generally: int, _to_processes: int) -> dict[type, Callable[[Any], Any]]:
    """Merge the tables of reducers; the result is cached, because merging takes longer than pickling."""
    known: dict[type, Callable[[Any], Any]] = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    return {**copyreg.dispatch_table, **{each: known[each] for each in known if each.__module__ in _OPEN}}


class Payload:
    """A packed value."""

    __slots__ = ("data", "kept", "memory")

    def __init__(self, data: bytes, memory: int = -1, kept: tuple[bytes | memoryview, ...] = ()) -> None:
        self.data: bytes = data
        """The pickle, or the layout of the memory file."""
        self.memory: int = memory
        """The descriptor of the memory file."""
        self.kept: tuple[bytes | memoryview[int], ...] = kept
        """The content of the memory file, as long as the file has not been made."""

    @property
    def is_large(self) -> bool:
        """Return whether the payload has a memory file, or will have one when it is sent."""
        return self.memory >= 0 or bool(self.kept)

    def open(self) -> None:
        """Make the memory file from the kept content, just before it is sent."""
        if self.kept and self.memory < 0:
            self.memory = channel.holding("coldfork", *self.kept)

    def close(self) -> None:
        """Close the memory file."""
        # Take the number first: two threads may close this at once, and a closed number may be reused.
        memory, self.memory = self.memory, -1
        if memory >= 0:
            os.close(memory)


class LostDescriptorError(OSError):
    """A large value was sent in a memory file, and this process had no free descriptor to receive it."""

    def __init__(self) -> None:
        super().__init__(
            EMFILE, f"{os.strerror(EMFILE)}: cannot receive something large, which was sent in a memory file"
        )
