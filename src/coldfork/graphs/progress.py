"""How far a capture has come: shown on a terminal, or handed to a function of the caller's."""

from __future__ import annotations

import sys
from collections.abc import Callable

from coldfork.graphs.descriptors import BatchDescriptor

Progress = Callable[[int, int, BatchDescriptor | None], None]
"""Called with how many are done, how many there are, and the batch that comes next."""

_WIDTH = 20


def chosen(progress: Progress | bool) -> Progress:
    """What `progress=` asks for: a function of the caller's, a bar on a terminal, or nothing."""
    if callable(progress):
        return progress
    return _bar if progress and sys.stderr.isatty() else _silent


def _bar(done: int, total: int, descriptor: BatchDescriptor | None) -> None:
    filled = _WIDTH * done // max(total, 1)
    what = "" if descriptor is None else f" {descriptor}"
    end = "\n" if descriptor is None else ""
    sys.stderr.write(f"\r\x1b[Kcapturing {'█' * filled}{'░' * (_WIDTH - filled)} {done}/{total}{what}{end}")
    sys.stderr.flush()


def _silent(done: int, total: int, descriptor: BatchDescriptor | None) -> None:
    return None
