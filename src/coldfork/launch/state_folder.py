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
"""The number of recordings that are kept in the state folder; the oldest are deleted."""
_BEGINNING = b'{"event":"header"'


def chosen_place(file: Path) -> Path:
    """Create the recording that the user named, and return its path; never overwrite any other kind of file.

    The recording stays locked while this process lives: two programs must not write to the same one.
    """
    place = Path(os.path.realpath(file))
    try:
        if place.exists() and not place.is_file():
            raise UsageError(f"{file} cannot hold a recording, because it is not a regular file")
        if place.exists() and not _is_recording(place):
            raise UsageError(f"{file} is not a recording, and is not overwritten")
        if place.exists():
            _take(place, file)
            # Unlink the old file, so that processes of an earlier program keep writing to it and not to ours.
            with suppress(OSError):
                place.unlink()
        _make(place, os.O_TRUNC)
        _take(place, file)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
    return place


def _take(place: Path, file: Path) -> None:
    """Lock a recording for the life of this process; raise an error if another process has locked it."""
    import fcntl

    descriptor = os.open(place, os.O_WRONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UsageError(f"{file} is being recorded to; name another file with --output") from None
    except OSError:
        # This file system has no locks, so do without.
        os.close(descriptor)


def new_place(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """Make a recording in the state folder, and delete old ones there."""
    state = state_folder(environment, platform)
    if state is None:
        raise UsageError("there is no folder for recordings: HOME is not set; name a file with --output")
    folder = state / "recordings"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for place in surplus(folder.glob(f"run-*{ENDING}"), KEPT - 1):
            with suppress(OSError):
                place.unlink()
        return _made_new(folder)
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
    raise FileExistsError(17, "a hundred recordings began in this second")


def _make(place: Path, how: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | how | getattr(os, "O_CLOEXEC", 0)
    os.close(os.open(place, flags, 0o600))


_IN_USE_SECONDS = 3600.0


def state_folder(environment: Mapping[str, str], platform: str) -> Path | None:
    """Return the state folder; None if the environment does not determine it."""
    named = user_state(environment, platform)
    return None if named is None else Path(os.path.realpath(named))


def surplus(entries: Iterable[Path], kept: int, now: float | None = None) -> list[Path]:
    """Return all files except the latest ones, and except those written within the last hour, which may be in
    use.
    """
    written = []
    for entry in entries:
        with suppress(OSError):
            written.append((entry.stat().st_mtime, entry))
    before = (time.time() if now is None else now) - _IN_USE_SECONDS
    return [entry for moment, entry in sorted(written, reverse=True)[kept:] if moment < before]
