"""The tasks of the pools of other programs."""

from __future__ import annotations

import os
from typing import NoReturn


def double(value: int) -> int:
    """Twice as much."""
    return 2 * value


def process() -> int:
    """Which process this is."""
    return os.getpid()


def leave(status: int) -> NoReturn:
    """End the process."""
    os._exit(status)
