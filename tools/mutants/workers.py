"""The other end of a worker: sends it tests to run and reads how they went, each within its limit."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutants.copies import Copy

PROGRAM = Path(__file__).with_name("worker.py")
#: Seconds that collecting may take, and any test of which nothing is known.
PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a test went."""

    test: str
    outcome: str
    """passed, failed, skipped, or timeout for the one that was given up."""
    seconds: float = 0.0
    hits: tuple[int, ...] = ()


class Worker:
    """A process that runs tests of a copy."""

    def __init__(self, copy: Copy) -> None:
        self.copy = copy
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "PYTHONHOME", "COLDFORK_RUNTIMES") and not name.startswith("PYTEST")
        }
        self._process = subprocess.Popen(
            [copy.python, PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=copy.root,
            env=environment,
            start_new_session=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._child = 0
        """The fork that runs tests at the moment."""

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def run(
        self,
        files: Sequence[str],
        ids: Sequence[str] | None = None,
        *,
        limits: Mapping[str, float] | None = None,
        hits: Path | None = None,
        stop: bool = False,
    ) -> Iterator[Ended]:
        """Run tests, all of some files or those named; the one that takes too long is the last."""
        request = {
            "root": str(self.copy.root),
            "temporary": str(self.copy.temporary),
            "log": str(self.copy.log),
            "files": list(files),
            "ids": None if ids is None else list(ids),
            "hits": None if hits is None else str(hits),
            "stop": stop,
            "frozen": stop,
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        running, limit = "", PATIENCE
        while True:
            message = self._message(limit)
            if message is None:
                yield Ended(running or f"collecting {' '.join(files)}", "timeout")
                running, limit = "", PATIENCE
                self._end_child()
            elif "child" in message:
                self._child = int(str(message["child"]))
            elif "start" in message:
                running = str(message["start"])
                limit = (limits or {}).get(running, PATIENCE)
            elif "end" in message:
                running, limit = "", PATIENCE
                numbers = message["hits"]
                assert isinstance(numbers, list)
                yield Ended(
                    str(message["end"]),
                    str(message["outcome"]),
                    float(str(message["seconds"])),
                    tuple(numbers),
                )
            elif "over" in message:
                self._child = 0
                if running:  # the process died in the middle of a test
                    yield Ended(running, "failed")
                return

    def _message(self, limit: float) -> dict[str, object] | None:
        """Return the worker's next message; None when none comes in time."""
        try:
            line = self._lines.get(timeout=limit)
        except queue.Empty:
            return None
        if line is None:
            raise RuntimeError("a worker died; its last words stand above")
        message: dict[str, object] = json.loads(line)
        return message

    def _end_child(self) -> None:
        if self._child:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._child, signal.SIGKILL)

    def close(self) -> None:
        """End the process, and the tests that it may be running."""
        self._process.kill()
        self._end_child()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
