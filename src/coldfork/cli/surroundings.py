"""What imports are watched in, and that they end when we do."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coldfork.launch.probe.trial import ProbeSetup

_AT_ONCE_SECONDS = 1.0


def surroundings(
    settings: dict[str, Any],
    python: str,
    *,
    forked: bool = False,
    before: tuple[str, ...] = (),
    after: tuple[str, ...] = (),
) -> ProbeSetup:
    """What imports are watched in, as the settings say; modules are sought in `before` and `after`, too."""
    from coldfork.launch.probe.git_bisect import is_bisecting
    from coldfork.launch.probe.trial import ProbeSetup

    base = dict(os.environ)
    if is_bisecting(Path()):
        base["PYTHONDONTWRITEBYTECODE"] = "1"
    return ProbeSetup(
        python=python,
        virtual=settings["virtual"],
        timeout=settings["timeout"],
        forked=forked,
        before=before,
        after=after,
        base=base,
    )


@contextmanager
def ended_with_us() -> Iterator[None]:
    """Let SIGTERM end us as Ctrl-C does, so that nothing we started is left.

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
