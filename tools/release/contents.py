"""Looks into archives: their size, what they must hold, and what they must not tell."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from release.running import ReleaseError

MOST_BYTES = 1_800_000
#: What every archive holds, below its own first folder.
NEEDED_IN_SOURCE = {"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "CITATION.cff", "pyproject.toml"}
NEEDED_IN_WHEEL = {"coldfork/__main__.py", "coldfork/py.typed", "coldfork/knowledge/compiled.py"}


def look_into(archive: Path, version: str, folders: tuple[Path, ...]) -> None:
    """Refuse an archive that is too large, lacks something, or names a folder of this machine."""
    wheel = archive.suffix == ".whl"
    size = archive.stat().st_size
    if wheel and size > MOST_BYTES:
        raise ReleaseError(f"{archive.name} has {size:,} bytes, and a wheel may have {MOST_BYTES:,}")
    if not archive.name.startswith(f"coldfork-{version}"):
        raise ReleaseError(f"{archive.name} is not of version {version}")
    # Only as a path from the top: below another folder, the same name may be on any machine.
    words = [
        re.compile(rb"(?<![\w.})/])" + re.escape(os.fsencode(folder)) + b"/")
        for folder in folders
        if folder != Path(folder.anchor)
    ]
    names = set()
    for name, data in members(archive):
        names.add(name if wheel else name.partition("/")[2])
        for word in words:
            if match := word.search(data):
                raise ReleaseError(
                    f"{archive.name}: {name} names {match[0].decode()}, a folder of this machine"
                )
    if missing := (NEEDED_IN_WHEEL if wheel else NEEDED_IN_SOURCE) - names:
        raise ReleaseError(f"{archive.name} lacks {', '.join(sorted(missing))}")
    # Compiled Python is of one version of Python, and what lies in a checkout's caches is of one machine.
    if odd := sorted(
        name for name in names if name.endswith((".pyc", ".orig", ".rej")) or "__pycache__" in name
    ):
        raise ReleaseError(f"{archive.name} holds {', '.join(odd[:5])}")


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Every file of an archive, with its content."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for name in wheel.namelist():
                yield name, wheel.read(name)
        return
    with tarfile.open(archive) as source:
        for member in source:
            file = source.extractfile(member) if member.isfile() else None
            if file is not None:
                yield member.name, file.read()


def keep(files: list[Path], dist: Path) -> None:
    """Put a release where it is to be found, in place of one that lies there."""
    dist.mkdir(parents=True, exist_ok=True)
    for path in files:
        shutil.copy2(path, dist / path.name)
