"""Read the modules of an analysis: from the cache, else parsed, in two processes if it pays."""

from __future__ import annotations

import marshal
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from coldfork.source.cache import content_hash, load_pack, save_pack, stamp
from coldfork.source.finder import Located
from coldfork.source.summary import Summary, summarise
from coldfork.source.workers import Worker, can_fork

#: Below this many bytes sharing the work out costs more than it saves.
_WORTH_SHARING = 150_000
_WORTH_A_WORKER = 1_200_000
_MOST_WORKERS = 4
Progress = Callable[[str, int, int], None]
Stamp = tuple[int, int, int]


def _packed(path: str, target_version: tuple[int, int], hashed: bool) -> tuple[bytes, bytes]:
    """A summary as bytes, with the hash of the file when it is to be remembered."""
    return marshal.dumps(tuple(summarise(path, target_version))), content_hash(path) if hashed else b""


class Loader:
    """Summaries by path, remembered between runs in one pack."""

    def __init__(self, pack: Path | None, target_version: tuple[int, int], jobs: int) -> None:
        self.pack = pack
        self.target_version = target_version
        self.jobs = jobs or min(os.cpu_count() or 1, _MOST_WORKERS)
        self.read = 0
        self.bytes_read = 0
        self._stored: dict[str, tuple[Stamp, bytes, bytes]] | None = None
        self._ready: dict[str, Summary] = {}
        self._workers: list[Worker] | None = None
        self._dirty = False

    def load(self, name: str, located: Located) -> Summary:
        """The summary of one module."""
        assert located.path is not None
        return self.summary(located.path)

    def summary(self, path: str) -> Summary:
        """The summary of one file."""
        known = self._ready.get(path)
        if known is not None:
            return known
        found = self._from_cache(path)
        if found is None:
            found = summarise(path, self.target_version)
            self._keep(path, found, None)
        self._ready[path] = found
        return found

    @property
    def _pack(self) -> dict[str, tuple[Stamp, bytes, bytes]]:
        """What the cache holds, read on first use."""
        if self._stored is None:
            loaded = load_pack(self.pack) if self.pack is not None else None
            self._stored = loaded if isinstance(loaded, dict) else {}
        return self._stored

    def _from_cache(self, path: str) -> Summary | None:
        stored = self._pack.get(path)
        if stored is None:
            return None
        now = stamp(path)
        if now is None:
            return None
        if stored[0] != now:
            if content_hash(path) != stored[1]:
                return None
            self._pack[path] = (now, stored[1], stored[2])
            self._dirty = True
        try:
            return Summary(*marshal.loads(stored[2]))
        except (ValueError, EOFError, TypeError):
            return None

    def _keep(self, path: str, summary: Summary, packed: tuple[bytes, bytes] | None) -> None:
        self.read += 1
        now = stamp(path)
        if now is None:
            return
        self.bytes_read += now[0]
        if self.pack is not None:
            raw, digest = packed or (marshal.dumps(tuple(summary)), content_hash(path))
            self._pack[path] = (now, digest, raw)
            self._dirty = True

    def load_many(self, paths: Iterable[str], progress: Progress | None = None) -> None:
        """Have the summaries of many files ready; helper processes parse a share of what the cache lacks."""
        missing: list[tuple[int, str]] = []
        for path in paths:
            if path in self._ready:
                continue
            if path in self._pack:
                self.summary(path)
                continue
            now = stamp(path)
            missing.append((now[0] if now else 0, path))
        total = sum(size for size, _ in missing)
        workers = self._helpers(total)
        if not workers:
            for done, (_, path) in enumerate(missing):
                self.summary(path)
                if progress is not None and done % 32 == 0:
                    progress("reading", done, len(missing))
            return
        self._share(missing, workers, progress)

    def _helpers(self, total: int) -> list[Worker]:
        """The helper processes, as far as this much work is worth their trouble."""
        if total < _WORTH_SHARING:
            return []
        if self._workers is None:
            if total < _WORTH_A_WORKER or self.jobs < 2 or not can_fork():
                return []
            target_version, hashed = self.target_version, self.pack is not None

            def parse(share: Any) -> Any:
                return {path: _packed(path, target_version, hashed) for path in share}

            self._workers = [Worker(parse) for _ in range(self.jobs - 1)]
        return self._workers

    def _share(
        self, missing: list[tuple[int, str]], workers: list[Worker], progress: Progress | None
    ) -> None:
        """Deal the files out by size; this process takes a share too."""
        missing.sort(reverse=True)
        hands = len(workers) + 1
        shares: list[list[str]] = [[] for _ in range(hands)]
        weights = [0] * hands
        for size, path in missing:
            lightest = weights.index(min(weights))
            shares[lightest].append(path)
            weights[lightest] += size + 2_000
        for worker, share in zip(workers, shares[1:], strict=True):
            worker.ask(share)
        for done, path in enumerate(shares[0]):
            self.summary(path)
            if progress is not None and done % 16 == 0:
                progress("reading", done * hands, len(missing))
        for worker, share in zip(workers, shares[1:], strict=True):
            packed = worker.answer() or {}
            for path in share:
                raw = packed.get(path)
                if raw is None:
                    self.summary(path)
                    continue
                summary = Summary(*marshal.loads(raw[0]))
                self._keep(path, summary, raw)
                self._ready[path] = summary

    def close(self) -> None:
        """Let helper processes go, and remember what was read."""
        for worker in self._workers or ():
            worker.close()
        self._workers = None
        if self.pack is not None and self._dirty:
            save_pack(self.pack, self._stored)
            self._dirty = False
