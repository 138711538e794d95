"""The folder of the locks, which is the same for all processes of one user on one host."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from coldfork.launch.state_folder import state_folder
from coldfork.model.errors import LeaseError

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_OURS_ALONE = 0o700
_OF_OTHERS = 0o022


def folder(environment: Mapping[str, str]) -> Path:
    """The folder, made if need be.

    The state folder comes first: a process started by cron or in a container has no XDG_RUNTIME_DIR, the
    system removes that folder when the user's last session ends, and who locks a file in another folder
    excludes nobody. A home may be shared by several hosts, so each start of a host has a folder of its own.
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
        troubles.append(f"{parent} (it cannot be written)")
    raise LeaseError(
        f"there is no folder for the locks of devices: {', '.join(troubles) or 'HOME is not set'}; "
        "COLDFORK_STATE_DIR names one"
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
            raise PermissionError(1, "it belongs to somebody else")
    if place.stat().st_mode & _OF_OTHERS:
        raise PermissionError(1, "it can be written by others")
