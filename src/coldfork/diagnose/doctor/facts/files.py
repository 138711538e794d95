"""The file system as the checks see it: below a root that tests put somewhere else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Space:
    """How large a file system is and how much of it is free, in bytes."""

    total: int
    free: int


class FileTree:
    """Reads files by their absolute names; what is not there or may not be read is None."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def place(self, name: str) -> Path:
        """Where a file lies, seen from this process."""
        return self._root / name.lstrip("/")

    def exists(self, name: str) -> bool:
        """Whether it is there."""
        try:
            return self.place(name).exists()
        except OSError:
            return False

    def text(self, name: str) -> str | None:
        """What a file holds."""
        try:
            return self.place(name).read_text("utf-8", "replace")
        except OSError:
            return None

    def names(self, folder: str) -> list[str]:
        """What lies in a folder."""
        try:
            return sorted(entry.name for entry in self.place(folder).iterdir())
        except OSError:
            return []

    def lines(self, name: str) -> Iterator[str]:
        """The lines of a file; none where it cannot be read."""
        yield from (self.text(name) or "").splitlines()

    def may_use(self, name: str) -> bool:
        """Whether this user may read and write it; nothing is opened."""
        return os.access(self.place(name), os.R_OK | os.W_OK)

    def space(self, name: str) -> Space | None:
        """The file system at a folder."""
        try:
            found = os.statvfs(self.place(name))
        except (OSError, AttributeError):
            return None
        return Space(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize)
