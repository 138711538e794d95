"""Run directories: where a script's output and its report lie, and what became of runs nobody finished."""

from __future__ import annotations

import fcntl
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from coldfork.launch.state_folder import state_folder, surplus
from coldfork.launch.supervisor import kernel, report_file
from coldfork.launch.supervisor.protocol import MARK, stamp
from coldfork.model.errors import UsageError

KEPT = 50
"""So many runs are kept in the state folder; the oldest give way. What `log_dir` names is never cleared."""
_OURS = re.compile(r"\d{8}-\d{6}-.*-[0-9a-f]{8}")
_NAME_LENGTH = 40


class RunDirectory:
    """The directory of one run, locked as long as somebody sees to it."""

    def __init__(self, path: Path, mark: str, lock: int) -> None:
        self.path = path
        self.mark = mark
        """Tells this run from every other."""
        self.lock = lock

    def begin(self, report: Mapping[str, Any]) -> None:
        """Write the report of a run that is about to start."""
        try:
            report_file.write(os.fspath(self.path), dict(report))
        except OSError as error:
            with suppress(OSError):
                self.path.rmdir()
            raise UsageError(
                f"cannot write in {self.path}: {error.strerror}; nothing was started; log_dir names another "
                "place for the run's files"
            ) from None

    def let_go(self) -> None:
        """Close our hold on it; the supervisor has its own by now."""
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1


def make(script: str, log_dir: str | os.PathLike[str] | None) -> RunDirectory:
    """A new run directory: in `log_dir`, else in the user's state folder."""
    folder = parent_folder(log_dir)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _tidied(os.getpid(), folder)
        if log_dir is None:
            _forget_old(folder)
        return _made(folder, script)
    except OSError as error:
        raise UsageError(f"cannot make a run directory in {folder}: {error.strerror}") from None


def parent_folder(
    log_dir: str | os.PathLike[str] | None, environment: Mapping[str, str] = os.environ
) -> Path:
    """The folder that holds run directories."""
    if log_dir is not None:
        return Path(os.path.realpath(os.fsdecode(log_dir)))
    state = state_folder(environment, sys.platform)
    if state is None:
        raise UsageError("there is no folder for run directories: HOME is not set; log_dir names one")
    return state / "runs"


def mark_abandoned(folder: Path) -> list[Path]:
    """Mark the runs in a folder whose supervisor was killed, and end what is left of them; which they were.

    A supervisor holds a lock on its run directory, which the system takes from the dead.
    """
    found: dict[str, Path] = {}
    for name in _runs(folder):
        if not report_file.may_run(name):
            continue
        path = Path(name)
        lock = None
        with suppress(OSError):
            lock = _locked(path)
        if lock is None:
            continue
        try:
            # Between our reading and our lock it may have ended as it should.
            report = report_file.read(os.fspath(path))
            if report is not None and report.get("state") == "started":
                abandon(path, report)
                found[str(report.get("id"))] = path
        finally:
            os.close(lock)
    if found:
        kernel.end_marked(MARK, set(found))
    return list(found.values())


def abandon(path: Path, report: dict[str, Any], outcome: str = "lost") -> None:
    """Write down that no supervisor saw how this run ended."""
    report |= {"state": "abandoned", "outcome": outcome, "noticed": stamp(time.time())}
    report_file.tidy(os.fspath(path))
    with suppress(OSError):
        report_file.write(os.fspath(path), report)


@cache
def _tidied(_pid: int, folder: Path) -> None:
    """Look for abandoned runs, once in the life of a process: its own it sees itself."""
    mark_abandoned(folder)


def _runs(folder: Path) -> Iterator[str]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _OURS.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                yield entry.path


def _made(folder: Path, script: str) -> RunDirectory:
    plain = re.sub(r"[^A-Za-z0-9_.]+", "-", Path(script).stem).strip("-.")[:_NAME_LENGTH] or "script"
    while True:
        mark = os.urandom(4).hex()
        path = folder / f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{plain}-{mark}"
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
            break
    try:
        lock = _locked(path)
    except OSError:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    assert lock is not None, "nobody else knows of this folder yet"
    return RunDirectory(path, path.name, lock)


def _locked(path: Path) -> int | None:
    """A descriptor that holds the lock on a folder; None while somebody else holds it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        # A file system without locks: then the living cannot be told from the dead, and nothing is marked.
        os.close(descriptor)
        raise
    return descriptor


def _forget_old(folder: Path) -> None:
    """Delete the runs that have to make room, save those that have not ended."""
    for path in surplus(map(Path, _runs(folder)), KEPT - 1):
        with suppress(OSError):
            report = report_file.read(os.fspath(path))
            if report is not None and report.get("state") != "started":
                from shutil import rmtree

                rmtree(path)
