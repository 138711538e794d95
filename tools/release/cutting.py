"""Cuts a version: gathers the changelog's fragments, and sets the version wherever it stands."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

from release.running import ReleaseError, run, say

#: Where the version stands, as the text around it.
NAMED = (
    ("src/coldfork/__init__.py", re.compile(r'(?m)^(__version__ = ")([^"]+)(")$')),
    ("CITATION.cff", re.compile(r"(?m)^(version: )(\S+)()$")),
)
RELEASED = re.compile(r"(?m)^(date-released: )(\S+)()$")
VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")


def cut(root: Path, version: str | None) -> None:
    """Gather the fragments under a version's heading and set the version."""
    if version is None or not VERSION.fullmatch(version):
        raise ReleaseError(f"a version reads 0.3.0 or 1.0.0rc1, not {version!r}")
    if not fragments(root):
        raise ReleaseError("changelog.d/ holds no fragment, so there is nothing to release")
    day = datetime.now(UTC).date().isoformat()
    run([sys.executable, "-m", "towncrier", "build", "--yes", "--version", version, "--date", day], root)
    for name, pattern in NAMED:
        _put(root / name, pattern, version)
    _put(root / "CITATION.cff", RELEASED, day)
    say(f"CHANGELOG.md begins with {version}: make a text of its sentences, commit, and run ./dev release")


def ready(root: Path) -> str:
    """Return the version to be released; refuse where its texts are not all there."""
    versions = {name: _version(root / name, pattern) for name, pattern in NAMED}
    if len(set(versions.values())) > 1:
        raise ReleaseError(f"the files disagree on the version: {versions}")
    version = next(iter(versions.values()))
    if f"\n## {version} (" not in (root / "CHANGELOG.md").read_text(encoding="utf-8"):
        raise ReleaseError(f"CHANGELOG.md has nothing on {version}; ./dev release cut {version} gathers it")
    if left := fragments(root):
        raise ReleaseError(
            f"changelog.d/ holds {len(left)} fragments that no release has told yet: cut one first"
        )
    return version


def fragments(root: Path) -> list[Path]:
    """The fragments that wait for a release."""
    return sorted(path for path in (root / "changelog.d").glob("*.md") if path.name != "README.md")


def _version(path: Path, pattern: re.Pattern[str]) -> str:
    match = pattern.search(path.read_text(encoding="utf-8"))
    if match is None:
        raise ReleaseError(f"{path.name} names no version")
    return match[2]


def _put(path: Path, pattern: re.Pattern[str], value: str) -> None:
    text = path.read_text(encoding="utf-8")
    path.write_text(pattern.sub(rf"\g<1>{value}\g<3>", text), encoding="utf-8")
