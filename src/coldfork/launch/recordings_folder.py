"""Where recordings are kept, and how many."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from coldfork.model.errors import UsageError

ENDING = ".coldfork"
KEPT = 20
"""So many recordings are kept in the state folder; the oldest give way."""
_BEGINNING = b'{"event":"header"'
_YOUNG_SECONDS = 3600


def chosen_place(file: Path) -> Path:
    """The file named by the user, made empty; refused where it holds something else than a recording."""
    place = Path(os.path.realpath(file))
    try:
        if place.exists() and not place.is_file():
            raise UsageError(f"{file} is no file that could hold a recording")
        if place.exists() and not _is_recording(place):
            raise UsageError(f"{file} holds something else than a recording; it is not written over")
        _make(place, os.O_TRUNC)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
    return place


def new_place(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """A new file in the state folder; old recordings there give way."""
    folder = state_folder(environment, platform)
    if folder is None:
        raise UsageError("there is no folder for recordings: HOME is not set; --output names a file")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _forget_old(folder, KEPT - 1)
        return _made_new(folder)
    except OSError as error:
        raise UsageError(
            f"cannot write a recording in {folder}: {error.strerror}; --output names another file"
        ) from None


def state_folder(environment: Mapping[str, str], platform: str) -> Path | None:
    """The folder for recordings that nobody gave another place."""
    if chosen := environment.get("COLDFORK_STATE_DIR"):
        return Path(os.path.realpath(chosen), "recordings")
    parent = environment.get("XDG_STATE_HOME", "")
    # The XDG specification tells programs to take a relative path for none at all.
    if Path(parent).is_absolute():
        return Path(os.path.realpath(parent), "coldfork", "recordings")
    home = environment.get("HOME", "")
    if not Path(home).is_absolute():
        return None
    own = ("Library", "Application Support") if platform == "darwin" else (".local", "state")
    return Path(os.path.realpath(home), *own, "coldfork", "recordings")


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


def _forget_old(folder: Path, kept: int) -> None:
    """Delete all but the youngest; what was written to within the hour may be in use."""
    found = []
    for place in folder.glob(f"run-*{ENDING}"):
        with suppress(OSError):
            found.append((place.stat().st_mtime, place))
    for written, place in sorted(found, reverse=True)[kept:]:
        if time.time() - written > _YOUNG_SECONDS:
            with suppress(OSError):
                place.unlink()
