"""The surroundings of a capture: paused garbage collection, a progress bar, and hooks for inspection."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from time import monotonic
from typing import Any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from coldfork.graphs.descriptors import BatchDescriptor, Phase

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
    """Collect garbage now but not within the block, because freeing device memory breaks a capture.

    What the program has by now is frozen meanwhile, unless the program freezes its objects itself: some ways
    of capturing collect garbage each time, which takes long in a process that has loaded a model.
    """
    gc.collect()
    was_on, was_frozen = gc.isenabled(), bool(gc.get_freeze_count())
    gc.disable()
    if not was_frozen:
        gc.freeze()
    try:
        yield
    finally:
        if not was_frozen:
            gc.unfreeze()
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


_WIDTH = 20
_NOTEBOOKS = ("ipykernel", "google.colab")
"""The packages whose streams are shown below a cell."""


def shows_bars(stream: TextIO | None) -> bool:
    """Return whether a stream goes to a terminal or to a notebook, where a line can be written anew."""
    if stream is None:
        return False
    try:
        return stream.isatty() or type(stream).__module__.startswith(_NOTEBOOKS)
    except ValueError:  # the stream is closed
        return False


class ProgressBar:
    """One line on standard error, written anew for each step."""

    def __init__(self, title: str = "", clock: Callable[[], float] = monotonic) -> None:
        self._title = f"{title}: " if title else ""
        self._clock = clock
        self._began = clock()
        self._shown = 0

    def show(self, done: int, total: int, what: str = "") -> None:
        """Show that `done` of `total` steps are done, and what comes next."""
        stream = sys.stderr
        if not shows_bars(stream):
            return
        line = f"{self._title}{_line(done, total, self._clock() - self._began)}{what and f' {what}'}"
        # Blanks cover the rest of a longer line everywhere; not every notebook knows the escape for that.
        end = "\n" if done >= total else ""
        stream.write(f"\r{line}{' ' * (self._shown - len(line))}{end}")
        stream.flush()
        self._shown = len(line)


def _line(done: int, total: int, seconds: float) -> str:
    """Return the line in the form that notebooks' users know from tqdm."""
    share = done / total if total else 1.0
    filled = int(_WIDTH * share)
    bar = "█" * filled + " " * (_WIDTH - filled)
    left = _clocked(seconds / done * (total - done)) if done else "?"
    rate = f"{done / seconds:.2f}" if done and seconds > 0 else "?"
    return f"{share:4.0%}|{bar}| {done}/{total} [{_clocked(seconds)}<{left}, {rate}/s]"


def _clocked(seconds: float) -> str:
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"
