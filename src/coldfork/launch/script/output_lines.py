"""Read a script's output line by line from its files, while it runs.

Because the output is in files, a slow reader neither stops the script nor fills this process's memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_PIECE = 128 * 1024
LONGEST_LINE = 1 << 20
"""A longer line is returned in pieces."""


@dataclass(frozen=True, slots=True)
class OutputLine:
    """One line of a script's output, without its line ending."""

    stream: str
    """`stdout` or `stderr`."""
    text: str
    """The text; bytes that are not UTF-8 appear as in `\\xff`."""


class OutputLines:
    """The lines of both outputs that the script has written so far."""

    def __init__(self, folder: Path) -> None:
        self._sources = [_Source(folder / name, name) for name in ("stdout", "stderr")]

    def read(self, *, last: bool = False) -> Iterator[OutputLine]:
        """Yield the lines added since the last call; with `last`, also an unfinished last line.

        Each call reads only a limited piece of each output, so that an event loop can do other things.
        """
        for source in self._sources:
            yield from source.read(last=last)

    def all(self, *, last: bool = False) -> Iterator[OutputLine]:
        """Yield the lines added since the last call, until there are no more."""
        yield from self.read(last=last)
        while self.behind():
            yield from self.read(last=last)

    def behind(self) -> bool:
        """Return whether more output can be read now."""
        return any(source.behind() for source in self._sources)

    def hold(self) -> None:
        """Open the files, so that they can still be read after they are deleted."""
        for source in self._sources:
            source.behind()

    def add(self, kept: Mapping[str, bytes]) -> None:
        """Add the output that did not fit on the disk; it follows the content of the files."""
        for source in self._sources:
            source.kept = kept.get(source.name, b"")

    def close(self) -> None:
        """Close the files."""
        for source in self._sources:
            source.close()


class _Source:
    def __init__(self, file: Path, name: str) -> None:
        self._file = file
        self.name = name
        self.kept = b""
        self._descriptor = -1
        self._at = 0
        self._rest = b""

    def behind(self) -> bool:
        return self._open() and os.fstat(self._descriptor).st_size > self._at

    def read(self, *, last: bool) -> Iterator[OutputLine]:
        if not self._open():
            return
        piece = os.pread(self._descriptor, _PIECE, self._at)
        self._at += len(piece)
        if last and not self.behind():
            piece, self.kept = piece + self.kept, b""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > LONGEST_LINE or (last and self._rest and not self.behind()):
            lines.append(self._rest)
            self._rest = b""
        for line in lines:
            yield OutputLine(self.name, line.removesuffix(b"\r").decode("utf-8", "backslashreplace"))

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> bool:
        if self._descriptor < 0:
            try:
                self._descriptor = os.open(self._file, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return False
        return True
