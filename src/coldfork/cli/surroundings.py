"""What imports are watched in, and that they end when we do."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from coldfork.launch.looks import Setting


def surroundings(
    settings: dict[str, Any],
    python: str,
    *,
    forked: bool = False,
    before: tuple[str, ...] = (),
    after: tuple[str, ...] = (),
) -> Setting:
    """What imports are watched in, as the settings say; modules are sought in `before` and `after`, too."""
    from coldfork.launch.bisecting import is_bisecting
    from coldfork.launch.looks import Setting

    base = dict(os.environ)
    if is_bisecting(Path()):
        base["PYTHONDONTWRITEBYTECODE"] = "1"
    return Setting(
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
    """Let SIGTERM end us as Ctrl-C does, so that nothing we started is left."""

    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    try:
        former = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread: signals are somebody else's
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)
