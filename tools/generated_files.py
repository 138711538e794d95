"""Files that are written from the code: bring them up to date, or say which are not and what mends them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path


def settle(description: str, command: str, files: Mapping[Path, str | None]) -> int:
    """Write the files, or with --check only compare them; None is the text of a file that must not exist.

    The exit status is 1 when --check finds one out of date; `command` is what mends it.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    options = parser.parse_args()
    outdated = sorted(path for path, text in files.items() if _current(path) != text)
    if not options.check:
        for path in outdated:
            _write(path, files[path])
        return 0
    for path in outdated:
        print(f"{_shown(path)} is out of date: {command} writes it", file=sys.stderr)
    return 1 if outdated else 0


def _current(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def _write(path: Path, text: str | None) -> None:
    if text is None:
        path.unlink()
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _shown(path: Path) -> str:
    return path.relative_to(Path(__file__).resolve().parent.parent).as_posix()
