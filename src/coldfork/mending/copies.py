"""Copies a project's files twice, before and after mending, so that code can run without the originals."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_LARGE = 1_000_000
_LEFT_OUT = frozenset({"__pycache__", ".git", ".hg", ".svn", "node_modules"})


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of files and folders, each at its original path below a common root."""

    root: Path

    def place(self, path: str | Path) -> Path:
        """Return the path of the copy of a file or folder."""
        return self.root.joinpath(*Path(path).absolute().parts[1:])

    def folder(self, original: Path) -> Path:
        """Complete the copy of a folder with links to the entries that were not copied; return its path."""
        made = self.place(original)
        made.mkdir(parents=True, exist_ok=True)
        for entry in original.iterdir():
            there = made / entry.name
            if not there.exists() and not there.is_symlink():
                there.symlink_to(entry)
        return made


@contextmanager
def copies(
    places: Iterable[Path], before: Mapping[str, bytes], after: Mapping[str, bytes]
) -> Iterator[tuple[Copy, Copy]]:
    """Copy files and folders twice; the two contents of changed files are given by absolute path.

    Large or hidden entries and environments become links to the originals, to which nothing should write.
    """
    with tempfile.TemporaryDirectory(prefix="coldfork-prove-") as folder:
        # The path must have no symbolic links, because a program may compare it with its own location.
        base = Path(folder).resolve()
        made = Copy(base / "before"), Copy(base / "after")
        for copy, contents in zip(made, (before, after), strict=True):
            for place in places:
                _take(place, copy.place(place))
            for file, content in contents.items():
                target = copy.place(file)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.unlink(missing_ok=True)  # the existing entry may be a link to the original
                target.write_bytes(content)
        yield made


def _take(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if not source.is_dir():
        _take_file(source, target)
        return
    target.mkdir(exist_ok=True)
    for entry in source.iterdir():
        there = target / entry.name
        if entry.name in _LEFT_OUT or entry.name.endswith("_cache") or there.is_symlink():
            continue
        if entry.is_symlink() or (entry.is_dir() and _is_apart(entry)):
            there.symlink_to(entry.resolve())
        elif entry.is_dir():
            _take(entry, there)
        else:
            _take_file(entry, there)


def _is_apart(folder: Path) -> bool:
    return folder.name.startswith(".") or (folder / "pyvenv.cfg").exists()


def _take_file(source: Path, target: Path) -> None:
    if not source.is_file() or target.exists():
        return  # not a regular file (such as a pipe), or already copied with another folder
    if source.stat().st_size > _LARGE:
        target.symlink_to(source.resolve())
    else:
        shutil.copy(source, target)
