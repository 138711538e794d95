"""A published file as a seekable stream: only the blocks that are read travel, and none travels twice."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from published.errors import UnavailableError
from published.index import Index, PublishedFile

BLOCK = 64 * 1024
#: One request asks for at most this much, so that a broken connection loses little.
STRETCH = 128
#: Fetching this many unwanted blocks is cheaper than another round trip.
GAP = 4

Progress = Callable[[int], None]


class RemoteFile(io.RawIOBase):
    """Reads a file on the index through a sparse local copy that outlives an interruption."""

    def __init__(
        self, index: Index, file: PublishedFile, copy: Path, progress: Progress | None = None
    ) -> None:
        super().__init__()
        self._index = index
        self._url = file.url
        self._journal = copy.with_name(copy.name + ".blocks")
        self._progress = progress or (lambda count: None)
        self._present = self._remembered(copy, file.size)
        mode = "r+b" if copy.exists() else "w+b"
        self._copy = copy.open(mode)
        self._at = 0
        self.size = file.size if file.size is not None else self._ask_size()
        self._copy.truncate(self.size)

    def readable(self) -> bool:
        """A remote file can be read."""
        return True

    def seekable(self) -> bool:
        """A remote file can be read from anywhere."""
        return True

    def tell(self) -> int:
        """Where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place in the file."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        """Read some bytes, fetching what is not here yet."""
        end = self.size if size is None or size < 0 else min(self.size, self._at + size)
        if end <= self._at:
            return b""
        self.ensure([(self._at, end)])
        self._copy.seek(self._at)
        data: bytes = self._copy.read(end - self._at)
        self._at = end
        return data

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Read into a buffer."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def ensure(self, spans: Iterable[tuple[int, int]]) -> None:
        """Fetch the bytes of all spans in as few requests as is sensible."""
        wanted = {
            block
            for start, end in spans
            for block in range(start // BLOCK, (min(end, self.size) + BLOCK - 1) // BLOCK)
        }
        for first, last in stretches(sorted(wanted - self._present)):
            self._fetch(first, last)

    def close(self) -> None:
        """Close the local copy and remember what it holds."""
        if not self.closed:
            self._remember()
            self._copy.close()
        super().close()

    def _fetch(self, first: int, last: int) -> None:
        start, end = first * BLOCK, min((last + 1) * BLOCK, self.size)
        answer = self._index.open(self._url, {"Range": f"bytes={start}-{end - 1}"})
        if not answer.partial:
            first, last, start = 0, (self.size - 1) // BLOCK, 0
            end = self.size
        if len(answer.body) != end - start:
            raise UnavailableError(f"{self._url}: asked for {end - start} bytes, got {len(answer.body)}")
        self._copy.seek(start)
        self._copy.write(answer.body)
        self._copy.flush()
        self._present.update(range(first, last + 1))
        self._remember()
        self._progress(len(answer.body))

    def _ask_size(self) -> int:
        answer = self._index.open(self._url, {"Range": "bytes=0-0"})
        if answer.total is None:
            raise UnavailableError(f"{self._url}: neither the index nor its server tells the size")
        return answer.total

    def _remembered(self, copy: Path, size: int | None) -> set[int]:
        try:
            note = json.loads(self._journal.read_text(encoding="utf-8"))
            if copy.exists() and note["url"] == self._url and size in (None, note["size"]):
                return set(note["blocks"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        copy.unlink(missing_ok=True)
        return set()

    def _remember(self) -> None:
        note = {"url": self._url, "size": self.size, "blocks": sorted(self._present)}
        fresh = self._journal.with_name(self._journal.name + ".new")
        fresh.write_text(json.dumps(note), encoding="utf-8")
        fresh.replace(self._journal)


def stretches(blocks: list[int]) -> list[tuple[int, int]]:
    """Join neighbouring blocks into runs worth one request each."""
    runs: list[tuple[int, int]] = []
    for block in blocks:
        if runs and block - runs[-1][1] <= GAP and block - runs[-1][0] < STRETCH:
            runs[-1] = (runs[-1][0], block)
        else:
            runs.append((block, block))
    return runs
