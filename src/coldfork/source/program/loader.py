"""Reads the modules of an analysis. Those missing from the cache are parsed, in several processes if that is
faster.

What parses is imported where it is used: a run whose answer is recalled only asks for the stamps of files.
"""

from __future__ import annotations

import marshal
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from coldfork.model.observations import FAILED, Progress, describe
from coldfork.source.files.reading import CannotRead, Reader, Stamp, hash_of

if TYPE_CHECKING:
    from coldfork.source.files.workers import Worker
    from coldfork.source.syntax.outline import Outline
    from coldfork.source.syntax.summary import Summary

#: If there are fewer bytes to parse, distributing the work costs more than it saves.
_WORTH_SHARING = 150_000
_WORTH_A_WORKER = 1_200_000
_MOST_WORKERS = 4
_UNPACKING = 0.08
"""The extra work of this process to take over the helpers' results, as a fraction of its share."""
_SHOWN_PARTS = 3
#: The stamp and hash of a file when it was read, its outline as plain data, and its summary as bytes.
Stored = tuple[Stamp, bytes, tuple[Any, ...], bytes]
_MOST_UNPACKED = 8_000_000
"""Summaries stay unpacked, to save time, until this process has read more bytes of source than this."""
_MOST_READY = 3_000_000
"""A session keeps packed summaries unpacked as well, up to this many packed bytes."""
_MOST_SOURCE = 4_000_000
"""This many bytes of source stay in memory, because a file whose functions are followed is soon
needed again.
"""


def _read(
    reader: Reader, path: str, target_version: tuple[int, int], remembering: bool
) -> tuple[Summary, Outline, bytes]:
    """Return the summary and outline of a file, and, if `remembering`, the hash of its content.

    All three belong to the same content, even if the file changes meanwhile.
    """
    from coldfork.source.syntax.outline import outline_of
    from coldfork.source.syntax.summary import summarise, unreadable

    raw = digest = b""
    try:
        raw = reader.read_bytes(path)
        digest = hash_of(raw) if remembering else b""
        summary = summarise(raw, target_version)
        return summary, outline_of(summary, raw), digest
    except CannotRead as problem:
        summary, digest = unreadable(problem.reason, problem.line, problem.column), reader.content_hash(path)
    except Exception as problem:
        summary = unreadable(f"{FAILED}{describe(problem)}")
    return summary, outline_of(summary, raw), digest


def _packed(
    reader: Reader, path: str, target_version: tuple[int, int], remembering: bool
) -> tuple[tuple[Any, ...], bytes, bytes]:
    """Return the outline of a file, its summary as bytes, and the hash of its content."""
    summary, outline, digest = _read(reader, path, target_version, remembering)
    return tuple(outline), marshal.dumps(tuple(summary)), digest


def _unpacked(packed: bytes) -> Summary:
    from coldfork.source.syntax.summary import Summary

    return Summary(*marshal.loads(packed))


def _outlined(plain: tuple[Any, ...]) -> Outline:
    from coldfork.source.syntax.outline import Outline

    return Outline(*plain)


class Ready:
    """Summaries that a session has unpacked, because many requests need the same few."""

    def __init__(self) -> None:
        self._summaries: dict[bytes, Summary] = {}
        self._room = _MOST_READY

    def summary(self, packed: bytes) -> Summary:
        """Return the summary stored in these bytes."""
        known = self._summaries.get(packed)
        if known is None:
            known = _unpacked(packed)
            self._summaries[packed] = known
            self._room -= len(packed)
            while self._room < 0:
                oldest = next(iter(self._summaries))
                del self._summaries[oldest]
                self._room += len(oldest)
        return known


class Loader:
    """The summaries and outlines of files, from the cache or by parsing the files.

    Summaries stay packed until they are needed: unpacked, they take six times the space.
    """

    def __init__(
        self,
        target_version: tuple[int, int],
        jobs: int,
        remembering: bool,
        reader: Reader | None = None,
        ready: Ready | None = None,
    ) -> None:
        self.reader: Reader = reader or Reader()
        self.stored: dict[str, Stored] = {}
        """The facts to store for the next run, if this run caches anything."""
        self.changed: bool = False
        """True once there is something new to store."""
        self._remembering = remembering
        self.target_version = target_version
        self.jobs: int = jobs or min(os.cpu_count() or 1, _MOST_WORKERS)
        self.read: int = 0
        self.bytes_read: int = 0
        self._outlines: dict[str, Outline] = {}
        self._unpacked: dict[str, Summary] = {}
        self._ready = ready
        self._packed: dict[str, bytes] = {}
        """The packed summaries of all other files that have an outline."""
        self._room_unpacked = _MOST_UNPACKED
        self._sources: dict[str, bytes] = {}
        self._workers: list[Worker] | None = None
        self.pause: Callable[[], None] = lambda: None
        """Called before a file is read; it may end the analysis."""

    def outline(self, path: str) -> Outline:
        """Return the outline of a module."""
        if path not in self._outlines and not self._recall(path):
            self._read_now(path, self.reader.stamp(path))
        return self._outlines[path]

    def summary(self, path: str) -> Summary:
        """Return the summary of one file."""
        known = self._unpacked.get(path)
        if known is not None:
            return known
        if path not in self._packed and not self._recall(path):
            return self._read_now(path, self.reader.stamp(path))
        packed = self._packed[path]
        if self._ready is None:
            return _unpacked(packed)
        return self._ready.summary(packed)

    def source(self, path: str) -> bytes:
        """Return the normalised source of a file; empty if the file can no longer be read."""
        known = self._sources.pop(path, None)
        if known is None:
            try:
                known = self.reader.read_source(path)
            except CannotRead:
                known = b""
            room = _MOST_SOURCE - len(known)
            while self._sources and sum(map(len, self._sources.values())) > room:
                del self._sources[next(iter(self._sources))]
        self._sources[path] = known
        return known

    def _read_now(self, path: str, before: Stamp | None) -> Summary:
        """Read and parse a file that is missing from the cache; `before` is its stamp."""
        self.pause()
        found, outline, digest = _read(self.reader, path, self.target_version, self._remembering)
        packed = b""
        if self._room_unpacked > 0:
            self._room_unpacked -= _size(before)
            self._unpacked[path] = found
        if self._remembering or path not in self._unpacked:
            packed = marshal.dumps(tuple(found))
        self._record(path, before, digest, tuple(outline), packed)
        return found

    def seen(self, path: str) -> tuple[Stamp, bytes] | None:
        """Return the stamp and the hash that a file had when this run read it."""
        stored = self.stored.get(path) if path in self._outlines else None
        return None if stored is None else stored[:2]

    def _recall(self, path: str) -> bool:
        """Take a file's outline and summary from the cache; return False if they are missing or outdated."""
        stored = self.stored.get(path)
        now = self.reader.stamp(path) if stored is not None else None
        if stored is None or now is None:
            return False
        before, digest, outline, packed = stored
        if before != now:
            if self.reader.content_hash(path) != digest:
                return False
            self.stored[path] = now, digest, outline, packed
            self.changed = True
        self._outlines[path], self._packed[path] = _outlined(outline), packed
        return True

    def _record(
        self, path: str, before: Stamp | None, digest: bytes, outline: tuple[Any, ...], packed: bytes
    ) -> None:
        """Keep a file's outline and summary, and store them in the cache under the stamp from before it was
        read.
        """
        self.read += 1
        self._outlines[path] = _outlined(outline)
        if path not in self._unpacked:
            self._packed[path] = packed
        if before is None:
            return
        self.bytes_read += before[0]
        if self._remembering:
            self.stored[path] = before, digest, outline, packed
            self.changed = True

    def load_many(self, paths: Iterable[str], progress: Progress | None = None) -> None:
        """Prepare the summaries of many files, parsing those missing from the cache in several processes."""
        missing: dict[str, Stamp | None] = {}
        for path in paths:
            if path in self._outlines:
                continue
            if path in self.stored:
                self.outline(path)
                continue
            missing[path] = self.reader.stamp(path)
        workers = self._helpers(sum(map(_size, missing.values())))
        if not workers:
            for done, (path, before) in enumerate(missing.items()):
                self._read_now(path, before)
                if progress is not None and done % 32 == 0:
                    progress("reading", done, len(missing), _shown(path))
            return
        self._share(missing, workers, progress)

    def _helpers(self, total: int) -> list[Worker]:
        """Return helper processes, as many as the amount of work justifies."""
        if total < _WORTH_SHARING:
            return []
        from coldfork.source.files.workers import Worker, can_fork

        if self._workers is None:
            if total < _WORTH_A_WORKER or self.jobs < 2 or not can_fork():
                return []
            reader, target_version, remembering = self.reader, self.target_version, self._remembering

            def parse(share: Any) -> Iterator[Any]:
                return ((path, _packed(reader, path, target_version, remembering)) for path in share)

            self._workers = [Worker(parse) for _ in range(self.jobs - 1)]
        return self._workers

    def _share(
        self, missing: dict[str, Stamp | None], workers: list[Worker], progress: Progress | None
    ) -> None:
        """Distribute files by size among the helpers and this process, and collect the results."""
        hands = len(workers) + 1
        shares: list[list[str]] = [[] for _ in range(hands)]
        weights = [0] * hands
        weights[0] = int(sum(map(_size, missing.values())) / hands * _UNPACKING)
        for path in sorted(missing, key=lambda path: (_size(missing[path]), path), reverse=True):
            lightest = weights.index(min(weights))
            shares[lightest].append(path)
            weights[lightest] += _size(missing[path]) + 2_000
        for worker, share in zip(workers, shares[1:], strict=True):
            worker.ask(share)
        for done, path in enumerate(shares[0]):
            self._read_now(path, missing[path])
            if progress is not None and done % 16 == 0:
                progress("reading", done * hands, len(missing), _shown(path))
        for worker, share in zip(workers, shares[1:], strict=True):
            for path, (outline, packed, digest) in worker.answer():
                self._record(path, missing[path], digest, outline, packed)
            for path in share:
                if path not in self._outlines:
                    self._read_now(path, missing[path])

    def close(self) -> None:
        """Let the helper processes end."""
        for worker in self._workers or ():
            worker.close()
        self._workers = None

    def abandon(self) -> None:
        """End the helper processes at once, in the middle of their work."""
        for worker in self._workers or ():
            worker.end()
        self._workers = None


def _size(before: Stamp | None) -> int:
    return 0 if before is None else before[0]


def _shown(path: str) -> str:
    """Return the part of a path that a user recognises: in an installed package, all below its root."""
    _, installed, inside = path.rpartition("-packages/")
    return inside if installed else "/".join(path.split("/")[-_SHOWN_PARTS:])
