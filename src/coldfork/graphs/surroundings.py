"""The surroundings of a capture: the collector at rest, a bar that grows, and somebody who looks on."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from coldfork.graphs.descriptors import BatchDescriptor, Phase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.graphs.descriptors import BatchDescriptor

_WIDTH = 20

Progress = Callable[[int, int, "BatchDescriptor | None"], None]
"""Called with how many are done, how many there are, and the batch that comes next."""


def teller(progress: Progress | bool) -> Progress:
    """What `progress=` asks for: a function of the caller's, a bar on a terminal, or nothing."""
    if callable(progress):
        return progress
    return _bar if progress and sys.stderr.isatty() else lambda done, total, descriptor: None


def _bar(done: int, total: int, descriptor: BatchDescriptor | None) -> None:
    filled = _WIDTH * done // max(total, 1)
    what = "" if descriptor is None else f" {descriptor}"
    end = "\n" if descriptor is None else ""
    sys.stderr.write(f"\r\x1b[Kcapturing {'█' * filled}{'░' * (_WIDTH - filled)} {done}/{total}{what}{end}")
    sys.stderr.flush()


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect once, then not again before the block ends: freeing memory of the device breaks a capture."""
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Inspection:
    """What surrounds the steps of a capture; this one looks at nothing, and costs nothing."""

    watches = False
    """Whether it follows what runs eagerly, operator by operator."""

    def building(self, descriptor: BatchDescriptor, phase: Phase) -> AbstractContextManager[None]:
        """Around the making of a forward function."""
        return nullcontext()

    def warming_up(self, forward: Any, state: Any) -> AbstractContextManager[None]:
        """Around the warm-up run."""
        return nullcontext()

    def capturing(self, forward: Any, state: Any) -> AbstractContextManager[None]:
        """Around the capture."""
        return nullcontext()

    def captured(self, graph: Any) -> None:
        """One graph is complete."""
