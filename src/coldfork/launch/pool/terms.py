"""The options of a pool, in one object that is passed to the backend."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from logging import getLogger
from pathlib import Path

from coldfork.launch.supervisor.limits import parse_size
from coldfork.model.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from coldfork.launch.devices.choice import DevicesWanted

_LOG = getLogger("coldfork")


@dataclass(frozen=True, slots=True)
class PoolTerms:
    """The checked options that a pool was made with."""

    workers: int
    preload: Sequence[str] | os.PathLike[str] = ()
    devices: DevicesWanted = None
    env: Mapping[str, str | None] = field(default_factory=dict)
    main: Mapping[str, Any] = field(default_factory=dict)
    """How a worker imports the main module; empty if it cannot."""
    timeout: float | None = None
    max_tasks: int | None = None
    max_memory: int | None = None
    initializer: Callable[..., object] | None = None
    initargs: tuple[object, ...] = ()
    max_queue: int | None = None
    retries: int = 0
    log_dir: Path | None = None
    most_logged: int = 16 << 20
    """The most bytes in a worker's log file; before it grows larger, it is renamed."""


def variables(env: Mapping[str, str | None]) -> dict[str, str]:
    """Return the environment of workers: this process's, with these changes."""
    return {name: value for name, value in {**os.environ, **env}.items() if value is not None}


def capped(env: Mapping[str, str | None], max_device_memory: int | str | None) -> dict[str, str | None]:
    """Return the variables for workers, with those that cap each worker's memory on each device."""
    if max_device_memory is None:
        return dict(env)
    from coldfork.launch.devices.memory_cap import cap

    found = cap(parse_size(max_device_memory, "max_device_memory"), variables(env), sys.executable)
    if not found.by:
        _LOG.warning("no device memory cap: %s", found.why_not)
    return {**env, **found.variables}


def log_folder(path: str | os.PathLike[str]) -> Path:
    """Make the folder for workers' logs, and return its path."""
    folder = Path(os.path.abspath(os.fsdecode(path)))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder of logs {folder}: {error.strerror}") from None
    return folder
