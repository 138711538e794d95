"""Where fetched sources, and what the benchmarks build, are kept: one git-ignored folder."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES_VARIABLE = "COLDFORK_BENCH_SOURCES"
#: Written last into a complete folder of sources; a folder without it is taken for an interrupted copy.
MARKER = ".SOURCE"


def workshop() -> Path:
    """The folder `.bench` at the repository root; it ignores itself, whatever the root's .gitignore says."""
    folder = ROOT / ".bench"
    folder.mkdir(exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    return folder


def sources() -> Path:
    """The folder of published sources: `$COLDFORK_BENCH_SOURCES`, else `.bench/sources`."""
    named = os.environ.get(SOURCES_VARIABLE)
    folder = Path(named) if named else workshop() / "sources"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
