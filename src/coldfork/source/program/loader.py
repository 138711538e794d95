"""Read the modules of an analysis: what is not known is parsed, in several processes if it pays."""

from __future__ import annotations

import marshal
import os
from collections.abc import Iterable
from typing import Any

from coldfork.model.observations import Progress
from coldfork.source.files.finder import Located
from coldfork.source.files.packs import Stamp, content_hash, hash_of, stamp
from coldfork.source.files.reading import CannotRead, read_bytes
from coldfork.source.files.workers import Worker, can_fork
from coldfork.source.syntax.summary import Summary, summarise, unreadable

#: Below this many bytes sharing the work out costs more than it saves.
_WORTH_SHARING = 150_000
_WORTH_A_WORKER = 1_200_000
_MOST_WORKERS = 4
_UNPACKING = 0.08
"""What this process does besides, while it takes over what the others have read, as a part of its share."""
_SHOWN_PARTS = 3
#: The stamp and the hash of a file when it was read, and its summary as bytes.
Stored = tuple[Stamp, bytes, bytes]


def _read(path: str, target_version: tuple[int, int], remembering: bool) -> tuple[Summary, bytes]:
    """The summary of a file; if it is for remembering, with the hash of what was read.

    The file itself may be another one by now.
    """
    try:
        raw = read_bytes(path)
    except CannotRead as problem:
        return unreadable(problem.reason), content_hash(path)
    return summarise(raw, target_version), hash_of(raw) if remembering else b""


def _packed(path: str, target_version: tuple[int, int], remembering: bool) -> tuple[bytes, bytes]:
    """The same with the summary as bytes."""
    summary, digest = _read(path, target_version, remembering)
    return marshal.dumps(tuple(summary)), digest


class Loader:
    """Summaries by path: those that are known, or else parsed."""

    def __init__(self, target_version: tuple[int, int], jobs: int, remembering: bool) -> None:
        self.stored: dict[str, Stored] = {}
        """What is known, and shall be the next time, when a run remembers anything."""
        self.changed = False
        """True once something is stored that was not."""
        self._remembering = remembering
        self.target_version = target_version
        self.jobs = jobs or min(os.cpu_count() or 1, _MOST_WORKERS)
        self.read = 0
        self.bytes_read = 0
        self._ready: dict[str, Summary] = {}
        self._workers: list[Worker] | None = None

    def load(self, name: str, located: Located) -> Summary:
        """The summary of one module."""
        assert located.path is not None
        return self.summary(located.path)

    def summary(self, path: str) -> Summary:
        """The summary of one file."""
        known = self._ready.get(path)
        if known is not None:
            return known
        found = self._recalled(path)
        if found is None:
            return self._summary_now(path, stamp(path))
        self._ready[path] = found
        return found

    def _summary_now(self, path: str, before: Stamp | None) -> Summary:
        """Read a file that the cache lacks, and that had this stamp before."""
        found, digest = _read(path, self.target_version, self._remembering)
        self._record(path, before, digest, marshal.dumps(tuple(found)) if self._remembering else None)
        self._ready[path] = found
        return found

    def seen(self, path: str) -> tuple[Stamp, bytes] | None:
        """The stamp and the hash of a file as it was when this run read it."""
        stored = self.stored.get(path) if path in self._ready else None
        return None if stored is None else stored[:2]

    def _recalled(self, path: str) -> Summary | None:
        stored = self.stored.get(path)
        if stored is None:
            return None
        now = stamp(path)
        if now is None:
            return None
        if stored[0] != now:
            if content_hash(path) != stored[1]:
                return None
            self.stored[path] = (now, stored[1], stored[2])
            self.changed = True
        try:
            return Summary(*marshal.loads(stored[2]))
        except (ValueError, EOFError, TypeError):
            return None

    def _record(self, path: str, before: Stamp | None, digest: bytes, raw: bytes | None) -> None:
        """Remember a summary, with the stamp that the file had before it was read."""
        self.read += 1
        if before is None:
            return
        self.bytes_read += before[0]
        if raw is not None:
            self.stored[path] = (before, digest, raw)
            self.changed = True

    def load_many(self, paths: Iterable[str], progress: Progress | None = None) -> None:
        """Have the summaries of many files ready; helper processes parse a share of what the cache lacks."""
        missing: dict[str, Stamp | None] = {}
        for path in paths:
            if path in self._ready:
                continue
            if path in self.stored:
                self.summary(path)
                continue
            missing[path] = stamp(path)
        workers = self._helpers(sum(map(_size, missing.values())))
        if not workers:
            for done, (path, before) in enumerate(missing.items()):
                self._summary_now(path, before)
                if progress is not None and done % 32 == 0:
                    progress("reading", done, len(missing), _shown(path))
            return
        self._share(missing, workers, progress)

    def _helpers(self, total: int) -> list[Worker]:
        """The helper processes, as far as this much work is worth their trouble."""
        if total < _WORTH_SHARING:
            return []
        if self._workers is None:
            if total < _WORTH_A_WORKER or self.jobs < 2 or not can_fork():
                return []
            target_version, remembering = self.target_version, self._remembering

            def parse(share: Any) -> Any:
                return {path: _packed(path, target_version, remembering) for path in share}

            self._workers = [Worker(parse) for _ in range(self.jobs - 1)]
        return self._workers

    def _share(
        self, missing: dict[str, Stamp | None], workers: list[Worker], progress: Progress | None
    ) -> None:
        """Deal the files out by size; this process takes a share too."""
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
            self._summary_now(path, missing[path])
            if progress is not None and done % 16 == 0:
                progress("reading", done * hands, len(missing), _shown(path))
        for worker, share in zip(workers, shares[1:], strict=True):
            packed = worker.answer() or {}
            for path in share:
                raw, digest = packed.get(path) or (None, b"")
                if raw is None:
                    self._summary_now(path, missing[path])
                    continue
                self._record(path, missing[path], digest, raw if self._remembering else None)
                self._ready[path] = Summary(*marshal.loads(raw))

    def close(self) -> None:
        """Let helper processes go."""
        for worker in self._workers or ():
            worker.close()
        self._workers = None


def _size(before: Stamp | None) -> int:
    return 0 if before is None else before[0]


def _shown(path: str) -> str:
    """The end of a path, from which people know the file: all of it in a package that was installed."""
    _, installed, inside = path.rpartition("-packages/")
    return inside if installed else "/".join(path.split("/")[-_SHOWN_PARTS:])
