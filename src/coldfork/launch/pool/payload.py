"""A value as it travels between a pool and its workers, and how its objects are taken apart for that.

Every worker has this: it imports little.
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
"""Where the classes stand whose objects are open here, and are opened there by what multiprocessing knows.

It knows what to do with tensors as well, once torch has told it: to share their memory with the caller.
They are copied here, as everything else is.
"""


def reducers() -> dict[type, Callable[[Any], Any]]:
    """How objects of some classes are taken apart, beside what `pickle` knows by itself."""
    known = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    return _joined(len(copyreg.dispatch_table), len(known))


@cache
def _joined(_generally: int, _to_processes: int) -> dict[type, Callable[[Any], Any]]:
    """Anew when there are more of them: joining them for each value would take longer than pickling it."""
    known: dict[type, Callable[[Any], Any]] = ForkingPickler._extra_reducers  # type: ignore[attr-defined]
    return {**copyreg.dispatch_table, **{each: known[each] for each in known if each.__module__ in _OPEN}}


class Payload:
    """A value, packed."""

    __slots__ = ("data", "kept", "memory")

    def __init__(self, data: bytes, memory: int = -1, kept: tuple[bytes | memoryview, ...] = ()) -> None:
        self.data: bytes = data
        """The pickle, or where a memory file is, what tells its pieces apart."""
        self.memory: int = memory
        """The descriptor of the memory file."""
        self.kept: tuple[bytes | memoryview[int], ...] = kept
        """The content of the memory file, where there is none yet."""

    @property
    def is_large(self) -> bool:
        """Whether it has a memory file, or will have one when it is sent."""
        return self.memory >= 0 or bool(self.kept)

    def open(self) -> None:
        """Put what is kept into a memory file, which is sent next."""
        if self.kept and self.memory < 0:
            self.memory = channel.holding("coldfork", *self.kept)

    def close(self) -> None:
        """Let go of the memory file."""
        # Two threads may come here at once, and the number is another file's as soon as it is closed.
        memory, self.memory = self.memory, -1
        if memory >= 0:
            os.close(memory)


class LostDescriptorError(OSError):
    """Something large was sent in a memory file, and this process had no descriptor free to receive it."""

    def __init__(self) -> None:
        super().__init__(EMFILE, f"{os.strerror(EMFILE)}: it was sent something large, in a memory file")
