"""The user's state folder, and what in it makes room for new recordings and runs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from coldfork.model.folders import user_state

_IN_USE_SECONDS = 3600.0


def state_folder(environment: Mapping[str, str], platform: str) -> Path | None:
    """The folder that holds what was recorded; None where there is no place for it."""
    named = user_state(environment, platform)
    return None if named is None else Path(os.path.realpath(named))


def surplus(entries: Iterable[Path], kept: int, now: float | None = None) -> list[Path]:
    """All but the latest; never what was written to within the hour, which may be in use."""
    written = []
    for entry in entries:
        with suppress(OSError):
            written.append((entry.stat().st_mtime, entry))
    before = (time.time() if now is None else now) - _IN_USE_SECONDS
    return [entry for moment, entry in sorted(written, reverse=True)[kept:] if moment < before]
