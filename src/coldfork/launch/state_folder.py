"""The user's state folder: the recordings in it, and the removal of old ones."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from coldfork.model.errors import UsageError
from coldfork.model.folders import user_state

ENDING = ".coldfork"
KEPT = 20
MOST_BYTES = 100 << 20
"""How many recordings, and how many bytes of them, are kept in the state folder; the oldest are deleted."""
_BEGINNING = b'{"event":"header"'


def chosen_place(file: Path) -> Path:
    """Create the recording that the user named, and return its path; never overwrite any other kind of file.

    It stays locked while this process lives: two programs in one recording would share one verdict.
    """
    place = Path(os.path.realpath(file))
    try:
        if place.exists() and not place.is_file():
            raise UsageError(f"{file} cannot hold a recording, because it is not a regular file")
        if place.exists() and not _is_recording(place):
            raise UsageError(f"{file} is not a recording, and is not overwritten")
        if place.exists():
            _take(place, file)
            # Unlink the old file, so that processes of an earlier program keep writing to that one and not to
            # ours.
            with suppress(OSError):
                place.unlink()
        _make(place, os.O_TRUNC)
        _take(place, file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
    return place


def _take(place: Path, file: Path) -> None:
    """Lock a recording as long as this process lives; raise an error if another process has locked it."""
    try:
        _lock(place)
    except BlockingIOError:
        raise UsageError(f"{file} is in use by another recording; name another file with --output") from None


def _lock(place: Path) -> int:
    """Lock a recording, and return the descriptor that holds the lock; some file systems have none."""
    import fcntl

    descriptor = os.open(place, os.O_WRONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:
        pass
    return descriptor


def new_place(
    environment: Mapping[str, str] = os.environ, platform: str = sys.platform, *, hold: bool = True
) -> Path:
    """Make a recording in the state folder, and delete old ones there; `hold` locks it for this process."""
    state = state_folder(environment, platform)
    if state is None:
        raise UsageError("there is no folder for recordings: HOME is not set; name a file with --output")
    folder = state / "recordings"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for old in surplus(folder.glob(f"run-*{ENDING}"), KEPT - 1, MOST_BYTES):
            with suppress(OSError):
                # Whoever records to it holds it locked.
                os.close(_lock(old))
                old.unlink()
        place = _made_new(folder)
        if hold:
            with suppress(OSError):
                _lock(place)
        return place
    except OSError as error:
        raise UsageError(
            f"cannot write a recording in {folder}: {error.strerror}; name another file with --output"
        ) from None


def _is_recording(place: Path) -> bool:
    with place.open("rb") as stream:
        beginning = stream.read(len(_BEGINNING))
    return not beginning or beginning == _BEGINNING


def _made_new(folder: Path) -> Path:
    name = f"run-{time.strftime('%Y%m%d-%H%M%S')}"
    for attempt in range(100):
        place = folder / (f"{name}-{attempt}{ENDING}" if attempt else f"{name}{ENDING}")
        with suppress(FileExistsError):
            _make(place, os.O_EXCL)
            return place
    raise FileExistsError(17, "too many recordings began in this second")


def _make(place: Path, how: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | how | getattr(os, "O_CLOEXEC", 0)
    os.close(os.open(place, flags, 0o600))


def state_folder(environment: Mapping[str, str], platform: str) -> Path | None:
    """Return the state folder; None if the environment does not determine one."""
    named = user_state(environment, platform)
    return None if named is None else Path(os.path.realpath(named))


def surplus(entries: Iterable[Path], kept: int, most_bytes: int) -> list[Path]:
    """Return all but the latest files: so many of them at most, and so many bytes."""
    written = []
    for entry in entries:
        with suppress(OSError):
            status = entry.stat()
            written.append((status.st_mtime, entry, status.st_size))
    beyond = []
    for number, (_, entry, size) in enumerate(sorted(written, reverse=True)):
        most_bytes -= size
        if number >= kept or most_bytes < 0:
            beyond.append(entry)
    return beyond
