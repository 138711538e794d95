"""A progress bar on standard error, shown only on a terminal and erased at the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from coldfork.report.shared.characters import alphabet, cells
from coldfork.report.shared.quantities import approximately
from coldfork.report.shared.terminals import columns, is_terminal

_BAR = 24
_INTERVAL = 0.1
_FALLBACK_WIDTH = 80
_WORTH_SAYING = 5.0


class ProgressBar:
    """Shows the progress of the analysis on one line; does nothing unless the stream is a terminal.

    It never raises an error: if the stream is closed or broken, it becomes silent.
    """

    def __init__(
        self,
        stream: TextIO | None,
        *,
        enabled: bool | None = None,
        guesses: bool = False,
        clock: Callable[[], float] = time.monotonic,
        width: Callable[[], int] | None = None,
    ) -> None:
        self._stream = stream
        self._clock = clock
        self._width = width or (lambda: columns(stream) or _FALLBACK_WIDTH)
        self._active = is_terminal(stream) if enabled is None else enabled and stream is not None
        self._guesses = guesses
        """Whether to estimate the remaining time, which makes sense only if the total is known."""
        self._began = clock()
        self._next_time = self._began + _INTERVAL
        self._shown = 0

    def update(self, stage: str, done: int, total: int, what: str = "") -> None:
        """Show that `done` of `total` items of a stage are finished, and which item is next.

        A total of 0 means that it is unknown.
        """
        if not self._active:
            return
        now = self._clock()
        # Nothing is shown during the first interval, so that a fast run shows nothing at all.
        if now < self._next_time:
            return
        self._next_time = now + _INTERVAL
        line = self._line(stage, done, total, what, now - self._began)
        # Blanks erase the line even on terminals that do not understand escape sequences.
        self._write("\r" + line + " " * (self._shown - cells(line)))
        self._shown = cells(line)

    def close(self) -> None:
        """Erase the line; later updates are ignored."""
        if self._active and self._shown:
            self._write("\r" + " " * self._shown + "\r")
        self._active = False

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _line(self, stage: str, done: int, total: int, what: str, elapsed: float) -> str:
        letters = alphabet(getattr(self._stream, "encoding", None))
        name = letters.clean(stage)
        behind = f"  {letters.clean(what)}" if what else ""
        if total <= 0:
            return letters.cut(f"{name} {done}{behind}", self._width() - 1)
        filled = min(_BAR, max(0, done * _BAR // total))
        bar = "#" * filled + "-" * (_BAR - filled)
        left = _time_left(done, total, elapsed) if self._guesses else ""
        return letters.cut(f"{name} [{bar}] {done}/{total}{left}{behind}", self._width() - 1)

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._active = False


def _time_left(done: int, total: int, elapsed: float) -> str:
    """Return the time left at the present rate; empty if there is little left."""
    if not 0 < done < total:
        return ""
    left = elapsed / done * (total - done)
    return f", about {approximately(left)} left" if left >= _WORTH_SAYING else ""
