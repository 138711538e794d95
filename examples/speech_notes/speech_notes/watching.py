"""How far running jobs are, and who wants to hear when something changes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from speech_notes.jobs import Progress


class Watching:
    """Lives in one event loop. Progress is not kept: it goes with the server, and the work begins anew."""

    def __init__(self) -> None:
        self._progress: dict[str, Progress] = {}
        self._news: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self.closing = False

    def progress(self, job: str) -> Progress | None:
        """How far a job is."""
        return self._progress.get(job)

    def advance(self, job: str, done: int, total: int) -> None:
        """A job has come so far."""
        self._progress[job] = Progress(done, total)
        self.changed(job)

    def over(self, job: str) -> None:
        """A job is not running any more."""
        self._progress.pop(job, None)
        self.changed(job)

    def changed(self, job: str) -> None:
        """Wake everybody who watches this job. Who is slow misses what is overtaken, and nothing piles up."""
        for event in self._news.get(job, ()):
            event.set()

    def close(self) -> None:
        """Let everybody go home: the server is going down."""
        self.closing = True
        for events in self._news.values():
            for event in events:
                event.set()

    @contextmanager
    def watch(self, job: str) -> Iterator[asyncio.Event]:
        """An event that is set whenever the job changes."""
        event = asyncio.Event()
        self._news[job].add(event)
        try:
            yield event
        finally:
            self._news[job].discard(event)
            if not self._news[job]:
                del self._news[job]
