"""One trial of one import: a fresh interpreter that is watched, and all that it wrote before it ended."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import Any

from coldfork.launch.plumbing.ask import Ended, environment, until_its_end
from coldfork.observe import bootstrap
from coldfork.observe.probing import RUNTIMES
from coldfork.observe.recording import events

_STACK_BYTES = 8_192
_TELL_BEFORE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class ProbeSetup:
    """The interpreter in which modules are imported, with its environment and settings."""

    python: str
    virtual: str | None = None
    timeout: float = 120.0
    forked: bool = False
    before: tuple[str, ...] = ()
    """Folders at the front of the import path."""
    after: tuple[str, ...] = ()
    """Folders behind those of PYTHONPATH."""
    names: Mapping[str, Sequence[str]] | None = None
    """Requests the contents of public names: by module, the names to leave out; None requests nothing."""
    root: str = ""
    """The folder of a copy, which is left out of the reported contents."""
    folder: str | None = None
    """The working directory, which Python searches first; None leaves it as it is."""
    base: Mapping[str, str] = field(default_factory=lambda: MappingProxyType(dict(os.environ)))

    def variables(self, first: tuple[str, ...] = ()) -> dict[str, str]:
        """Return an environment with the same import path as the program's, with these folders before it."""
        path = [*first, *self.before, *filter(None, [self.base.get("PYTHONPATH")]), *self.after]
        return {**self.base, **({"PYTHONPATH": os.pathsep.join(path)} if path else {})}


@dataclass(frozen=True, slots=True)
class ImportTrial:
    """The output of one watched import, and how its process ended."""

    ended: Ended
    result: Mapping[str, Any] | None
    """The report that it writes at its end; None if it did not get so far."""
    wakes: tuple[Mapping[str, Any], ...]
    """Everything that woke, in order, including runtimes that do not survive a fork."""
    troubles: tuple[str, ...]
    """Failures of the watch itself."""
    limit: float
    """The seconds that it was given."""
    values: Mapping[str, tuple[str, bool]] | None = None
    """The contents of its public names, each with whether it is complete; None without an answer."""
    stuck: str = ""
    """The stacks of its threads shortly before the time limit."""

    @property
    def device_wakes(self) -> tuple[Mapping[str, Any], ...]:
        """Return the wakes of devices, without those of other runtimes."""
        return tuple(wake for wake in self.wakes if wake["accelerator"] not in RUNTIMES)


def run_trial(
    module: str, setup: ProbeSetup, *, exact: Collection[str] = (), stop: Callable[[], bool] = bool
) -> ImportTrial:
    """Import a module under watch; wakes within the modules of `exact` are recorded with the exact call."""
    with tempfile.TemporaryDirectory(prefix="coldfork-probe-") as folder:
        result = Path(folder, "result")
        settings = {
            "mode": "probe",
            "module": module,
            "result": str(result),
            "stage2": sorted(exact),
            "forked": setup.forked,
            "values": None
            if setup.names is None or exact
            else {"names": list(setup.names.get(module, ())), "root": setup.root},
            "tell_at": monotonic() + max(setup.timeout - _TELL_BEFORE_SECONDS, setup.timeout * 0.8),
        }
        ended = until_its_end(
            bootstrap.command(setup.python),
            environment(settings, setup.variables(), setup.virtual),
            timeout=setup.timeout,
            stop=stop,
            folder=setup.folder,
        )
        return _read(result, ended, setup.timeout)


def _read(result: Path, ended: Ended, limit: float) -> ImportTrial:
    written, _ = events.read(_content(result))
    return ImportTrial(
        ended=ended,
        result=next((event for event in written if event.get("event") == "result"), None),
        wakes=tuple(event for event in written if event.get("event") == "wake"),
        troubles=tuple(
            f"{event.get('what')}: {event.get('detail')}"
            for event in written
            if event.get("event") == "trouble"
        ),
        limit=limit,
        values=next((_values(event) for event in written if event.get("event") == "values"), None),
        stuck=_content(result.with_name(result.name + ".stack"))[:_STACK_BYTES].decode("utf-8", "replace"),
    )


def _values(event: Mapping[str, Any]) -> Mapping[str, tuple[str, bool]]:
    return {name: (text, is_exact) for name, (text, is_exact) in event["values"].items()}


def _content(file: Path) -> bytes:
    with suppress(OSError):
        return file.read_bytes()
    return b""
