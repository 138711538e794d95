"""Makes room for new runs in a folder of runs, and touches nothing there that is not coldfork's."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from coldfork.launch.supervisor import report_file
from coldfork.model.errors import UsageError

IN_STATE_FOLDER = 50
IN_LOG_DIR = 1000
"""So many runs are kept in a folder that somebody has named, and expects to find them in."""
ALL: Literal["all"] = "all"
Kept = int | Literal["all"] | None
"""How many runs are kept; None for as many as is usual there."""

_OURS = re.compile(r"\d{8}-\d{6}-.*-[0-9a-f]{8}")
_HOUR = 3600.0
_MINUTE = 60.0


@dataclass(frozen=True, slots=True)
class Room:
    """How many runs a folder is to hold; None for any number."""

    most: int | None
    spared_seconds: float = _HOUR
    """What has ended within this time may still be read, and stays."""

    def make(self, folder: Path) -> None:
        """Delete the oldest runs, save those that have not ended, so that there is room for one more."""
        if self.most is None:
            return
        found = sorted(runs(folder))
        for path in map(Path, found[: max(0, len(found) - self.most + 1)]):
            with suppress(OSError):
                if path.stat().st_mtime < time.time() - self.spared_seconds and _has_ended(path):
                    report_file.delete(os.fspath(path))


def room(kept: Kept, usual: int) -> Room:
    """The room that somebody asked for."""
    if kept is None:
        return Room(usual)
    if kept == ALL:
        return Room(None)
    given: object = kept
    if isinstance(given, bool) or not isinstance(given, int) or kept < 1:
        raise UsageError(f'keep_runs is how many runs are kept, from 1 on, or "all", and not {kept!r}')
    return Room(kept, _MINUTE)


def runs(folder: Path) -> Iterator[str]:
    """What looks like a run directory."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _OURS.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                yield entry.path


def _has_ended(path: Path) -> bool:
    """Whether it is a run directory of coldfork's, and nothing of that run goes on."""
    report = report_file.read(os.fspath(path)) or {}
    return report.get("id") == path.name and report.get("state") in ("ended", "abandoned")
