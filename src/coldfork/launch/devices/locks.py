"""File locks on devices: the folder that holds them, the locks themselves, and their holders."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from coldfork.launch.plumbing.linux.kernel import processes
from coldfork.launch.state_folder import state_folder
from coldfork.model.errors import LeaseError
from coldfork.observe.processes.identity import command_line
from coldfork.observe.processes.table import start_of

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_OURS_ALONE = 0o700
_OF_OTHERS = 0o022
_DOOR = "door"
_DOOR_SECONDS = 5.0
_LOOK_SECONDS = 0.002
_MOST = 4096


def folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of the lock files, and create it if necessary.

    The state folder is preferred to XDG_RUNTIME_DIR: processes started by cron or in a container lack that
    variable, and the system removes its folder when the user's last session ends. All processes must use the
    same folder, or their locks do not exclude each other. Hosts may share a home, so each boot of a host has
    a folder of its own.
    """
    troubles = []
    for parent in _candidates(environment):
        place = parent / "leases" / _boot()
        try:
            _make(parent, place)
        except OSError as error:
            troubles.append(f"{parent} ({error.strerror or error})")
            continue
        if os.access(place, os.W_OK | os.X_OK):
            return place
        troubles.append(f"{parent} (not writable)")
    raise LeaseError(
        f"there is no folder for the locks of devices: {', '.join(troubles) or 'HOME is not set'}; name one "
        "with COLDFORK_STATE_DIR"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    state = state_folder(environment, sys.platform)
    if state is not None:
        yield state
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/") and Path(runtime).is_dir():
        yield Path(runtime, "coldfork")
    from tempfile import gettempdir

    yield Path(gettempdir(), f"coldfork-{os.getuid()}")


def _boot() -> str:
    with suppress(OSError):
        return _BOOT.read_text(encoding="ascii").strip()
    return os.uname().nodename


def _make(parent: Path, place: Path) -> None:
    parent.parent.mkdir(parents=True, exist_ok=True)
    for one in (parent, place.parent, place):
        one.mkdir(mode=_OURS_ALONE, exist_ok=True)
        if one.lstat().st_uid != os.geteuid():
            raise PermissionError(1, "it belongs to another user")
    if place.stat().st_mode & _OF_OTHERS:
        raise PermissionError(1, "other users can write to it")


class _Descriptors:
    """The locks that this process holds. There is a single object, because a process has one descriptor
    table.

    A lock belongs to the open file, which a forked child shares: a child that outlives its parent would keep
    it held. So each child forked by Python closes what it inherited, and no process can unlock what is not
    its own. An executed program inherits none of them, because they are closed on exec.
    """

    def __init__(self) -> None:
        # Reentrant, because a signal handler may fork or give a lease back while this lock is held.
        self._lock = threading.RLock()
        self._open: set[int] = set()
        self._watching = False

    def opened(self, path: Path) -> int:
        with self._lock:
            if not self._watching:
                self._watching = True
                # Locked during a fork, so that every open descriptor is already listed when the child is
                # made.
                os.register_at_fork(
                    before=self._lock.acquire,
                    after_in_parent=self._lock.release,
                    after_in_child=self._forget,
                )
            # Python's `os.open` sets close-on-exec, so no other program inherits the lock.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            self._open.add(descriptor)
            return descriptor

    def close(self, descriptor: int, *, unlock: bool = True) -> None:
        with self._lock:
            # A forked child's list is empty: the number may belong to another file there.
            if descriptor not in self._open:
                return
            self._open.discard(descriptor)
            if unlock:
                with suppress(OSError):
                    fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def _forget(self) -> None:
        for descriptor in self._open:
            with suppress(OSError):
                os.close(descriptor)
        self._open.clear()
        self._lock.release()


_HELD = _Descriptors()


class Lock:
    """A lock on one file, held by this process until it is released or the process ends."""

    def __init__(self, descriptor: int, *, signed: bool) -> None:
        self._descriptor = descriptor
        self._pid = os.getpid()
        self._signed = signed

    def release(self) -> None:
        """Release the lock; do nothing on a second call, or in a process forked from the holder."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0 or self._pid != os.getpid():
            return
        if self._signed:
            with suppress(OSError):
                os.ftruncate(descriptor, 0)
        _HELD.close(descriptor)


def exclusive(path: Path) -> Lock | None:
    """Lock a file exclusively, and write its holder into it; None if another process holds a lock."""
    lock = _taken(path, fcntl.LOCK_EX, signed=True)
    if lock is not None:
        sign(lock._descriptor)
    return lock


def shared(path: Path) -> Lock | None:
    """Take a lock that others may share; return None if another process holds an exclusive lock."""
    return _taken(path, fcntl.LOCK_SH, signed=False)


def _taken(path: Path, how: int, *, signed: bool) -> Lock | None:
    descriptor = _HELD.opened(path)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        _HELD.close(descriptor, unlock=False)
        return None
    except BaseException:
        _HELD.close(descriptor, unlock=False)
        raise
    return Lock(descriptor, signed=signed)


@contextmanager
def door(folder: Path) -> Iterator[None]:
    """Let one process at a time choose devices: two that want several could otherwise each hold half of them.

    Each device has a lock of its own, so a process that has waited long enough goes on without this one: a
    process that was stopped while choosing must not block the others.
    """
    until = time.monotonic() + _DOOR_SECONDS
    lock = _taken(folder / _DOOR, fcntl.LOCK_EX, signed=False)
    while lock is None and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)
        lock = _taken(folder / _DOOR, fcntl.LOCK_EX, signed=False)
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that took a lease, as recorded in the lock file."""

    pid: int
    program: str
    since: float
    """When the lease was taken, in seconds since the epoch."""
    start: int | None
    """The process's start time, which distinguishes it from a later process with the same number."""

    def __str__(self) -> str:
        since = time.strftime("%H:%M:%S", time.localtime(self.since))
        return f"pid {self.pid} ({self.program}) since {since}"

    @property
    def is_running(self) -> bool:
        """Return whether the holder is still running; a child that C code forked may keep its lock after its
        end.
        """
        return self.start is not None and start_of(self.pid) == self.start


def sign(descriptor: int) -> None:
    """Record this process's name and number in a lock file; they only serve messages."""
    said = {"pid": os.getpid(), "program": _program(), "since": time.time(), "start": start_of()}
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(said).encode(), 0)


def holder(path: Path) -> Holder | None:
    """Return the process recorded in a lock file; None if there is no record, or none yet."""
    try:
        with path.open("rb") as file:
            said = json.loads(file.read(_MOST))
        return Holder(int(said["pid"]), str(said["program"]), float(said["since"]), said["start"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def describe(path: Path) -> tuple[str, tuple[int, ...]]:
    """Return a description of a lock's holders, and their process numbers."""
    found = holder(path)
    if found is None:
        return "a process that did not identify itself", ()
    if found.is_running:
        return str(found), (found.pid,)
    left = tuple(_openers(path))
    if not left:
        return f"{found}, in another container or just ended", (found.pid,)
    heirs = ", ".join(f"pid {pid} ({_name(pid)})" for pid in left)
    return f"{found}, which has ended and left the lock to {heirs}", left


def _program() -> str:
    """Return the name of this program without its arguments, which may contain secrets."""
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
    """Return the processes that have a file open, as far as this user may see their descriptors."""
    try:
        wanted = path.stat()
    except OSError:
        return []
    return [pid for pid in processes() if pid != os.getpid() and _has_open(pid, wanted)]


def _has_open(pid: int, wanted: os.stat_result) -> bool:
    with suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208
            with suppress(OSError):
                if os.path.samestat(Path("/proc", str(pid), "fd", name).stat(), wanted):
                    return True
    return False
