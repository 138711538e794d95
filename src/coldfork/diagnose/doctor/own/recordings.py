"""Whether programs that coldfork recorded or ran have crashed recently.

Looks at the latest recordings of `coldfork run` and at the reports of isolated scripts in coldfork's folder,
of the last seven days. Of the recordings, the ten latest are read, if they are smaller than a megabyte.

- **ok**: none of them crashed.
- **warn**: some did: a process was ended by a signal that nobody sends on purpose, or a script was killed.
- **skipped**: nothing was kept.

It never fails: the crashes are past.
"""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.launch.state_folder import ENDING
from coldfork.launch.supervisor import report_file
from coldfork.model.diagnosis import Answer, ok, skipped, warn
from coldfork.model.errors import ColdforkError

_DAYS = 7
_MOST = 10
_LARGEST = 1 << 20
_CRASHES = frozenset(
    getattr(signal, name).value
    for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGSYS")
    if hasattr(signal, name)
)
_ENDED_BADLY = frozenset({"killed", "lost"})


def examine(facts: Facts) -> Answer:
    """Look for recent crashes in the recordings and crash reports."""
    recordings, runs = _kept(facts, "recordings", f"run-*{ENDING}"), _kept(facts, "runs", "*/report.json")
    if not recordings and not runs:
        return skipped(f"nothing was recorded in the last {_DAYS} days")
    crashed = [f"{file}: {how}" for file in recordings[:_MOST] if (how := _crash(file))]
    crashed += [f"{file.parent}: {how}" for file in runs if (how := _end(file))]
    if not crashed:
        return ok(f"none of {len(recordings) + len(runs)} recorded programs crashed")
    return warn(
        f"{len(crashed)} of {len(recordings) + len(runs)} recorded programs crashed",
        "coldfork report FILE shows what a recorded program did; the folder of a script holds its output",
        details=crashed,
    )


def _kept(facts: Facts, folder: str, pattern: str) -> list[Path]:
    """Return the stored files of one kind, the latest first."""
    found = []
    for file in (facts.state / folder).glob(pattern) if facts.state is not None else ():
        with suppress(OSError):
            written = file.stat().st_mtime
            if facts.now - written < _DAYS * 86400:
                found.append((written, file))
    return [file for _, file in sorted(found, reverse=True)]


def _crash(file: Path) -> str | None:
    """Return which process of a recording crashed, and how; None if none did."""
    from coldfork.report.recordings.assembly.files import read

    try:
        if file.stat().st_size > _LARGEST:
            return None
        processes = read(file).processes
    except (OSError, ColdforkError):
        return None
    crashed = next((process for process in processes if process.signal in _CRASHES), None)
    if crashed is None or crashed.signal is None:
        return None
    return f"process {crashed.pid} was ended by {signal.Signals(crashed.signal).name}"


def _end(file: Path) -> str | None:
    report = report_file.read(str(file.parent))
    if report is None or report.outcome not in _ENDED_BADLY:
        return None
    return f"the script was {report.outcome}"
