"""Telling how far a capture of many batches has come."""

from __future__ import annotations

import sys
from collections.abc import Callable

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
