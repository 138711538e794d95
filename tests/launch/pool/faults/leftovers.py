"""The things that a test may leave behind: descriptors, children and threads."""

from __future__ import annotations

import gc
import os
import select
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path

from tests.launch.pool.faults.tasks import LIMIT


@dataclass(frozen=True)
class Held:
    """The things that this process holds at one moment."""

    descriptors: frozenset[tuple[int, str]]
    children: frozenset[int]
    threads: frozenset[str]


def held() -> Held:
    """Return what this process holds now."""
    # multiprocessing starts it for the first worker of a process, and keeps it.
    resource_tracker.ensure_running()
    gc.collect()
    return Held(
        frozenset(_descriptors()),
        frozenset(children()),
        frozenset(f"{thread.name} {thread.ident}" for thread in threading.enumerate()),
    )


def require_nothing_since(before: Held) -> None:
    """Require that nothing has come since, though some may have gone; threads take a moment to end."""
    until = time.monotonic() + LIMIT
    while True:
        now = held()
        new = (now.descriptors - before.descriptors, now.children - before.children)
        new_threads = now.threads - before.threads
        if not any(new) and not new_threads:
            return
        if time.monotonic() > until:
            raise AssertionError(f"left behind: {new} {new_threads}")
        time.sleep(0.02)


def children() -> list[int]:
    """The children of this process, zombies among them."""
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            # A thread that has ended meanwhile has left its children to another one.
            found += [int(pid) for pid in (task / "children").read_text(encoding="ascii").split()]
    return [pid for pid in found if b"resource_tracker" not in command(pid)]


def descendants(root: int) -> set[int]:
    """All that a process has started, and that has."""
    found: set[int] = set()
    waiting = [root]
    while waiting:
        try:
            for task in Path(f"/proc/{waiting.pop()}/task").iterdir():
                listed = [int(pid) for pid in (task / "children").read_text(encoding="ascii").split()]
                waiting += listed
                found.update(listed)
        except OSError:
            continue
    return found


def not_ended(pids: Iterable[int]) -> list[int]:
    """Wait for processes of anybody to end: these have not."""
    left = []
    for pid in pids:
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            if not select.select([process], [], [], LIMIT)[0]:
                left.append(pid)
        finally:
            os.close(process)
    return left


def _descriptors() -> Iterable[tuple[int, str]]:
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        try:
            yield int(name), os.readlink(f"/proc/self/fd/{name}")  # noqa: PTH115
        except OSError:
            continue


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
