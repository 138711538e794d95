"""Source lines for the places that a recording names; read only where the user asked for them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from coldfork.report.shared.options import Source

#: A recording may come from anybody and name any file: nothing but Python source is ever quoted.
_SOURCE_SUFFIXES = frozenset({".py", ".pyi", ".pyx"})
_LONGEST = 200
_LARGEST_FILE = 8 * 1024 * 1024


def reader(started: str, cwd: str = "") -> Source:
    """Quotes lines of Python files that have not changed since the recording was made."""
    recorded = _timestamp(started)

    @lru_cache(maxsize=256)
    def lines(path: str) -> tuple[str, ...]:
        file = Path(cwd) / path
        try:
            status = file.stat()
            fits = file.suffix in _SOURCE_SUFFIXES and file.is_file() and status.st_size <= _LARGEST_FILE
            if not fits or recorded is None or status.st_mtime > recorded:
                return ()
            return tuple(file.read_text(encoding="utf-8", errors="replace").splitlines())
        except (OSError, ValueError):
            return ()

    def source(path: str, line: int) -> str:
        held = lines(path)
        return held[line - 1].strip()[:_LONGEST] if 0 < line <= len(held) else ""

    return source


def _timestamp(started: str) -> float | None:
    try:
        moment = datetime.fromisoformat(started)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
