"""Runs a command and says how long it took and how much memory it held; and what several runs say."""

from __future__ import annotations

import os
import statistics
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from published.errors import UnavailableError

SAMPLE_EVERY = 0.02
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a command."""

    seconds: float
    status: int
    cpu_seconds: float
    """Of user and system time, summed over the process and those of its descendants that were waited for."""
    peak_bytes: int | None = None
    """The largest sum of resident memory over the process and all its descendants, where it was sampled.

    Pages that forked processes share count once for each of them, so the sum errs upwards."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The spread of repeated runs: the median, the extremes and the quartiles, in seconds."""

    median: float
    low: float
    high: float
    first_quartile: float
    third_quartile: float
    runs: int

    @property
    def interquartile(self) -> float:
        """The distance between the quartiles."""
        return self.third_quartile - self.first_quartile

    @classmethod
    def of(cls, samples: Sequence[float]) -> Spread:
        """Summarise at least one sample."""
        if not samples:
            raise UnavailableError("nothing was measured")
        quartiles = (
            statistics.quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else [samples[0]] * 3
        )
        middle = statistics.median(samples)
        return cls(middle, min(samples), max(samples), quartiles[0], quartiles[2], len(samples))

    def __str__(self) -> str:
        return f"{self.median:6.2f} s  ({self.low:.2f} to {self.high:.2f}, IQR {self.interquartile:.2f})"


def once(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    statuses: frozenset[int] = frozenset({0}),
    limit: float = 300.0,
    memory: bool = False,
) -> Run:
    """Run a command to its end; its output is dropped, what it says on failure is kept for the error."""
    spent = _spent_by_children()
    start = time.perf_counter()
    process = subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    peak = _Peak(process.pid) if memory else None
    try:
        _, said = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired as error:
        process.kill()
        process.communicate()
        raise UnavailableError(f"{command[0]} took more than {limit:.0f} s") from error
    finally:
        if peak is not None:
            peak.stop()
    seconds = time.perf_counter() - start
    if process.returncode not in statuses:
        words = said.decode("utf-8", "replace").strip()[-400:]
        raise UnavailableError(f"{' '.join(command[:4])} ... exits {process.returncode}: {words}")
    cpu_seconds = _spent_by_children() - spent
    return Run(seconds, process.returncode, cpu_seconds, None if peak is None else peak.bytes)


def _spent_by_children() -> float:
    """Return the CPU time of all children waited for so far: one command at a time is measured."""
    spent = os.times()
    return spent.children_user + spent.children_system


class _Peak:
    """Samples the memory of a process tree from /proc until it is told to stop."""

    def __init__(self, root: int) -> None:
        self.bytes = 0
        self._root = root
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the sampling."""
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.is_set():
            self.bytes = max(self.bytes, tree_memory(self._root))
            self._done.wait(SAMPLE_EVERY)


def tree_memory(root: int) -> int:
    """Resident memory of a process and all its descendants, now; 0 where there is no /proc."""
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        total += _resident(process)
        waiting.extend(_children(process))
    return total


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_bytes().split()[1]) * PAGE
    except (OSError, IndexError, ValueError):
        return 0


def _children(process: int) -> list[int]:
    found: list[int] = []
    try:
        for task in Path(f"/proc/{process}/task").iterdir():
            found.extend(int(child) for child in (task / "children").read_bytes().split())
    except OSError:
        pass
    return found
