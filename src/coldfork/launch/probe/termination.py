"""SIGTERM ends a run of imports as Ctrl-C does, so that nothing it started is left."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from types import FrameType

_AT_ONCE_SECONDS = 1.0


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Raise KeyboardInterrupt for SIGTERM, too.

    A signal that comes twice at once counts once: `timeout` sends it to its child and to its child's
    group, and what the first has interrupted is being written down when the second comes.
    """
    first: list[float] = []

    def stop(_number: int, _frame: FrameType | None) -> None:
        first.append(monotonic())
        if len(first) == 1 or first[-1] - first[0] > _AT_ONCE_SECONDS:
            raise KeyboardInterrupt

    former = {}
    for number in (signal.SIGTERM, signal.SIGINT):
        # Whoever ignores Ctrl-C, or has an answer of their own, keeps it.
        if number == signal.SIGINT and signal.getsignal(number) is not signal.default_int_handler:
            continue
        with suppress(ValueError):  # not the main thread: signals are somebody else's
            former[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
