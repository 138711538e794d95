"""How far many calls have come, told to a function or shown as a bar on a terminal."""

from __future__ import annotations

import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future
    from typing import Any

    Progress = Callable[[int, int], object]

_WIDTH = 20


def follow(futures: Iterable[Future[Any]], progress: Progress | bool) -> None:
    """Tell how many of these are done, each time that one is."""
    tell = progress if callable(progress) else _bar if progress and _is_terminal() else None
    if tell is None:
        return
    every = list(futures)
    lock = threading.Lock()
    done = 0

    def count(_: object) -> None:
        nonlocal done
        with lock:
            done += 1
            tell(done, len(every))

    for future in every:
        future.add_done_callback(count)


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _bar(done: int, total: int) -> None:
    filled = _WIDTH * done // max(total, 1)
    end = "\n" if done == total else ""
    sys.stderr.write(f"\r\x1b[K{'█' * filled}{'░' * (_WIDTH - filled)} {done}/{total}{end}")
    sys.stderr.flush()
