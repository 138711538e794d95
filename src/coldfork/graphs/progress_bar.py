"""A bar with the time that is left, on terminals and in notebooks, for what takes its time."""

from __future__ import annotations

import sys
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

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
