"""Run directories: where a script's output and report are kept, and how abandoned runs are recognised."""

from __future__ import annotations

import fcntl
import os
import re
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.state_folder import state_folder
from coldfork.launch.supervisor import report_file
from coldfork.launch.supervisor.protocol import MARK, stamp
from coldfork.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Literal

    from coldfork.launch.supervisor.report_file import Report

    Kept = int | Literal["all"] | None
    """The number of runs to keep; None for the default."""

IN_STATE_FOLDER = 50
IN_LOG_DIR = 1000
"""The number of runs kept in a folder that the user has named, and in which the user expects to find them."""
ALL: Literal["all"] = "all"

_OURS = re.compile(r"\d{8}-\d{6}-.*-[0-9a-f]{8}")
_HOUR = 3600.0
_MINUTE = 60.0


class Room:
    """A limit on the number of runs in a folder; None for any number."""

    def __init__(self, most: int | None, spared_seconds: float = _HOUR) -> None:
        self.most = most
        self.spared_seconds = spared_seconds
        """A run that ended less than this long ago is not deleted, because it may still be read."""

    def make(self, folder: Path) -> None:
        """Delete the oldest ended runs in a folder, until there is room for one more."""
        if self.most is None:
            return
        found = sorted(runs(folder))
        for path in map(Path, found[: max(0, len(found) - self.most + 1)]):
            with suppress(OSError):
                if path.stat().st_mtime < time.time() - self.spared_seconds and _has_ended(path):
                    report_file.delete(os.fspath(path))


def room(kept: Kept, usual: int) -> Room:
    """Return the limit on runs that the user has chosen, or else the usual one."""
    if kept is None:
        return Room(usual)
    if kept == ALL:
        return Room(None)
    given: object = kept
    if isinstance(given, bool) or not isinstance(given, int) or kept < 1:
        raise UsageError(f'keep_runs has to be a whole number, 1 or more, or "all", not {kept!r}')
    return Room(kept, _MINUTE)


def runs(folder: Path) -> Iterator[str]:
    """Yield the paths of folders whose names look like run directories."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _OURS.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                yield entry.path


def _has_ended(path: Path) -> bool:
    """Return whether a path is a coldfork run directory whose run has ended."""
    report = report_file.read(os.fspath(path))
    return report is not None and report.id == path.name and report.state in ("ended", "abandoned")


_NAME_LENGTH = 40
_PREFIX = "coldfork-"
NOT_WANTED = "none was wanted"


class RunDirectory:
    """The directory of one run; it stays locked as long as a process supervises the run."""

    def __init__(self, path: Path, mark: str, lock: int, no_report: str | None = None) -> None:
        self.path = path
        self.is_usual = False
        """Whether it is in the state folder, because the caller named no other."""
        self.mark = mark
        """A text that identifies this run."""
        self.lock: int = lock
        self.no_report = no_report
        """Why neither report nor output is kept; None if they are."""

    def begin(self, report: Report) -> None:
        """Write the report of a run that is about to start; raise `OSError` if the state folder is full."""
        try:
            report_file.write(os.fspath(self.path), report)
        except OSError as error:
            report_file.delete(os.fspath(self.path))
            if self.is_usual:
                raise
            raise UsageError(
                f"cannot write in {self.path}: {error.strerror}; nothing was started; "
                "name another place for the run's files with log_dir"
            ) from None

    def let_go(self) -> None:
        """Release this process's lock on the directory, because the supervisor has its own by now."""
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1

    def discard(self) -> None:
        """Delete the directory, unless the user wants it kept."""
        if self.no_report is not None:
            report_file.delete(os.fspath(self.path))


def make(
    script: str, log_dir: str | os.PathLike[str] | None, *, kept: bool = True, keep_runs: Kept = None
) -> RunDirectory:
    """Make a run directory in `log_dir` or the user's state folder, and delete the oldest runs there.

    If the run is not kept, or cannot be written to the state folder, the directory is a temporary folder.
    """
    space = room(keep_runs, IN_STATE_FOLDER if log_dir is None else IN_LOG_DIR)
    if not kept:
        if log_dir is not None:
            raise UsageError("give log_dir or report=False, not both: log_dir says where to keep the report")
        return _for_now(script, NOT_WANTED)
    if log_dir is not None:
        folder = Path(os.path.realpath(os.fsdecode(log_dir)))
        try:
            return _made_in(folder, script, space)
        except OSError as error:
            raise UsageError(f"cannot make a run directory in {folder}: {error.strerror}") from None
    return _in_state_folder(script, space, os.environ)


def _in_state_folder(script: str, space: Room, environment: Mapping[str, str]) -> RunDirectory:
    state = state_folder(environment, sys.platform)
    if state is None:
        return _for_now(script, "there is no folder for it, because HOME is not set")
    folder = state / "runs"
    try:
        made = _made_in(folder, script, space)
    except OSError as error:
        return _for_now(script, f"cannot write in {folder}: {error.strerror}")
    made.is_usual = True
    return made


def instead_of(directory: RunDirectory, script: str, error: OSError) -> RunDirectory:
    """Make a temporary run directory for the same run, because this one cannot be written to."""
    directory.let_go()
    return _for_now(script, f"cannot write in {directory.path.parent}: {error.strerror}")


def _for_now(script: str, why: str) -> RunDirectory:
    from tempfile import gettempdir

    try:
        made = _made(Path(gettempdir()), script, _PREFIX)
    except OSError as error:
        raise UsageError(
            f"cannot make a temporary folder: {error.strerror}; name another place with TMPDIR"
        ) from None
    made.no_report = why
    return made


def _made_in(folder: Path, script: str, space: Room) -> RunDirectory:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _tidied(os.getpid(), folder)
    space.make(folder)
    return _made(folder, script)


def mark_abandoned(folder: Path) -> list[Path]:
    """Mark runs whose supervisors were killed, kill their remaining processes, and return the runs' folders.

    A supervisor holds a lock on its run directory, which the system releases when it dies.
    """
    found: dict[str, Path] = {}
    for name in runs(folder):
        if not report_file.may_run(name):
            continue
        path = Path(name)
        lock = None
        with suppress(OSError):
            lock = _locked(path)
        if lock is None:
            continue
        try:
            # Read the report again: the run may have ended normally before we got the lock.
            report = report_file.read(os.fspath(path))
            if report is not None and report.state == "started":
                abandon(path, report)
                found[report.id] = path
        finally:
            os.close(lock)
    if found:
        kernel.end_marked(MARK, set(found))
    return list(found.values())


def abandon(path: Path, report: Report, outcome: str = "lost") -> None:
    """Record that no supervisor observed this run's end."""
    report.abandon(outcome, stamp(time.time()))
    report_file.tidy(os.fspath(path))
    with suppress(OSError):
        report_file.write(os.fspath(path), report)


@cache
def _tidied(_pid: int, folder: Path) -> None:
    """Mark abandoned runs, once in each process: a process notices by itself if a later run of its own is
    lost.
    """
    mark_abandoned(folder)


def _made(folder: Path, script: str, prefix: str = "") -> RunDirectory:
    plain = re.sub(r"[^A-Za-z0-9_.]+", "-", Path(script).stem).strip("-.")[:_NAME_LENGTH] or "script"
    while True:
        mark = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{plain}-{os.urandom(4).hex()}"
        path = folder / f"{prefix}{mark}"
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
            break
    try:
        lock = _locked(path)
    except OSError:
        lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    assert lock is not None, "no other process knows of this folder yet"
    return RunDirectory(path, mark, lock)


def _locked(path: Path) -> int | None:
    """Lock a folder, and return the lock's descriptor; None if another process holds the lock."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        # Without file locks, abandoned runs cannot be distinguished from running ones, so none is marked.
        os.close(descriptor)
        raise
    return descriptor
