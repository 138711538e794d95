"""Who holds a lease: what the holder wrote into the file, and who has it open if the holder is gone."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from coldfork.observe.processes.identity import command_line
from coldfork.observe.processes.table import start_of

_MOST = 4096


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that took a lease."""

    pid: int
    program: str
    since: float
    """When, in seconds since the epoch."""
    start: int | None
    """The start of the process, by which it is told from a later one of the same number."""

    def __str__(self) -> str:
        since = time.strftime("%H:%M:%S", time.localtime(self.since))
        return f"pid {self.pid} ({self.program}) since {since}"

    @property
    def is_running(self) -> bool:
        """Whether it is there still; the lock may outlive it in a child that C code forked."""
        return self.start is not None and start_of(self.pid) == self.start


def sign(descriptor: int) -> None:
    """Write down who holds the lock; that it is held does not depend on it."""
    said = {"pid": os.getpid(), "program": _program(), "since": time.time(), "start": start_of()}
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(said).encode(), 0)


def holder(path: Path) -> Holder | None:
    """Who signed a lock; None where nobody has, or nobody yet."""
    try:
        with path.open("rb") as file:
            said = json.loads(file.read(_MOST))
        return Holder(int(said["pid"]), str(said["program"]), float(said["since"]), said["start"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def describe(path: Path) -> tuple[str, tuple[int, ...]]:
    """Who holds a lock, in words, and the processes."""
    found = holder(path)
    if found is None:
        return "a process that has not said who it is", ()
    if found.is_running:
        return str(found), (found.pid,)
    left = tuple(_openers(path))
    if not left:
        return f"{found}, in another container or ended a moment ago", (found.pid,)
    heirs = ", ".join(f"pid {pid} ({_name(pid)})" for pid in left)
    return f"{found}, which has ended and left the lock to {heirs}", left


def _program() -> str:
    """The name of this program, without its arguments, which may be secret."""
    name = sys.argv[0] if sys.argv else ""
    if name in ("", "-"):
        return "python"
    if name.startswith("-"):
        return f"python {name}"
    place = Path(name)
    return f"python -m {place.parent.name}" if place.name == "__main__.py" else place.name


def _name(pid: int) -> str:
    words = command_line(pid)
    return Path(words[0]).name if words else "it has ended"


def _openers(path: Path) -> list[int]:
    """The processes that have a file open, of those whose descriptors this user may see."""
    try:
        wanted = path.stat()
    except OSError:
        return []
    pids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208
    return [pid for pid in pids if pid != os.getpid() and _has_open(pid, wanted)]


def _has_open(pid: int, wanted: os.stat_result) -> bool:
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
            with suppress(OSError):
                if os.path.samestat(Path("/proc", str(pid), "fd", name).stat(), wanted):
                    return True
    return False
