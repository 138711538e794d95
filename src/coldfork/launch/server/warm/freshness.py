"""Whether files are still what they were when they were read."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Mark = list[int] | None
    """None for what is not there."""

_TICK = 20_000_000
"""The clock of file systems advances in steps of so many nanoseconds at most."""


def noted(paths: Iterable[str]) -> dict[str, Mark]:
    """What tells each of these files and folders from what it may become."""
    return {path: _mark(path) for path in paths}


def changed(before: Mapping[str, Mark]) -> str | None:
    """The first of these that is no longer what it was."""
    return next((path for path, mark in before.items() if _mark(path) != mark), None)


def changed_since(moment: int, paths: Iterable[str]) -> str | None:
    """The first of these files that was written after a moment, in nanoseconds, or just before."""
    for path in paths:
        try:
            if os.stat(path).st_ctime_ns >= moment - _TICK:
                return path
        except OSError:
            continue
    return None


def _mark(path: str) -> Mark:
    try:
        status = os.stat(path)
    except OSError:
        return None
    # The time of the last change of the file itself, which no program can set.
    return [status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns]
