"""The surroundings of a capture: paused garbage collection, a progress bar, and hooks for inspection."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from coldfork.graphs.descriptors import BatchDescriptor, Phase
from coldfork.graphs.progress_bar import ProgressBar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.graphs.descriptors import BatchDescriptor

Progress = Callable[[int, int, "BatchDescriptor | None"], None]
"""Called with the number of batches done, the total, and the next batch (None at the end)."""


def teller(progress: Progress | bool) -> Progress:
    """Return a function that reports progress: the caller's own, a bar, or a silent one."""
    if callable(progress):
        return progress
    if not progress:
        return lambda done, total, descriptor: None
    bar = ProgressBar("capturing")
    return lambda done, total, descriptor: bar.show(
        done, total, "" if descriptor is None else f"{descriptor}"
    )


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect garbage now but not within the block, because freeing device memory breaks a capture."""
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Inspection:
    """Hooks around the steps of a capture; those of this base class do nothing."""

    watches = False
    """Whether eager code is followed operator by operator."""

    def building(self, descriptor: BatchDescriptor, phase: Phase) -> AbstractContextManager[None]:
        """Return a context for making a forward function."""
        return nullcontext()

    def warming_up(self, forward: Any, state: Any) -> AbstractContextManager[None]:
        """Return a context for the warm-up run."""
        return nullcontext()

    def capturing(self, forward: Any, state: Any) -> AbstractContextManager[None]:
        """Return a context for the capture."""
        return nullcontext()

    def captured(self, graph: Any) -> None:
        """Inspect a finished graph."""
