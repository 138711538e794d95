"""The result of an isolated script, and the error that callers may have raised instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coldfork.launch.script.outcome import Outcome, explained
from coldfork.launch.supervisor import report_file
from coldfork.launch.supervisor.report_file import Report
from coldfork.model.errors import ColdforkError

if TYPE_CHECKING:
    from coldfork.knowledge.troubles import Trouble

__all__ = [
    "OUTPUT_KEPT",
    "Attempt",
    "Outcome",
    "ScriptError",
    "ScriptResult",
    "quoted",
    "result_of",
    "troubles_of",
]

OUTPUT_KEPT = 1 << 20
"""How many bytes of the end of each output a result keeps; the files in the run directory hold more."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome of one attempt at a script."""

    id: str
    """The name of its run directory, which is beside that of the last attempt."""
    outcome: Outcome
    status: int | None
    signal: str | None
    seconds: float


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """The outcome of an isolated script, with its output and report."""

    outcome: Outcome
    status: int | None
    """The exit status; None if a signal ended it."""
    signal: str | None
    """The name of the signal that ended it."""
    seconds: float
    start_method: str
    """The start method that was requested."""
    enforced: bool
    """Whether the script's Python confirmed that this is its default start method."""
    stdout: str
    """The end of the standard output: at most `OUTPUT_KEPT` bytes."""
    stderr: str
    run_dir: Path
    """The folder with the files stdout, stderr and report.json; deleted if no report is kept."""
    peak_memory_bytes: int | None
    exception: Mapping[str, Any] | None
    """The exception that ended the script: type, message, stack and caused_by, without secrets."""
    wakes: tuple[Mapping[str, Any], ...]
    """Every wake in the script's own process: accelerator, level and waker."""
    states: tuple[Mapping[str, Any], ...] | None
    """The state of every accelerator when the script ended; None if it could no longer report them."""
    left_behind: tuple[str, ...]
    """The names of processes that the script left running; they were ended."""
    warm: bool = False
    """Whether it was forked from a server that had imported its modules already."""
    cold_because: str | None = None
    """Why no server started the script, although that was requested."""
    caps: Mapping[str, Any] | None = None
    """The script's limits: for memory and cpu `most`, `reached`, and `by`, which names what enforced it."""
    no_report: str | None = None
    """Why neither a report nor output is kept; None if they are in `run_dir`."""
    attempts: tuple[Attempt, ...] = ()
    """All attempts, the last of which the rest of the result describes."""
    notes: tuple[str, ...] = ()
    """Problems with the run, a sentence each, such as a full disk or a supervisor that was stopped."""
    unwritten: Mapping[str, Any] | None = field(default=None, repr=False)
    """The content of report.json, if it is not kept or could not be written."""

    @property
    def ok(self) -> bool:
        """Return whether the script ended with status 0."""
        return self.outcome is Outcome.SUCCEEDED

    @property
    def report(self) -> dict[str, Any]:
        """Return the content of report.json, or what it would contain if it was not written."""
        written = None if self.unwritten else report_file.read(str(self.run_dir))
        return dict(self.unwritten or (written.told() if written else {}))

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """Return the known troubles that the script's errors or exception reveal, with cause and remedy."""
        return troubles_of(self.exception, self.stderr)

    def explained(self) -> str:
        """Return one sentence on how the script ended."""
        said = explained(self.outcome, self.status, self.signal, self.caps)
        return said if len(self.attempts) <= 1 else f"{said}, in attempt {len(self.attempts)}"


class ScriptError(ColdforkError):
    """A script that was run with `check=True` failed; `result` contains the details."""

    def __init__(self, result: ScriptResult) -> None:
        super().__init__(result)
        self.result = result

    def __str__(self) -> str:
        said = self.result.explained()
        error = self.result.exception
        if error is not None:
            said += f" ({error.get('type')}: {error.get('message')})"
        kept, run_dir = self.result.no_report is None, self.result.run_dir
        said += f"; its output and its report are in {run_dir}" if kept else "; no report of it is kept"
        return "\n".join([said, *map(quoted, self.result.troubles)])


def result_of(
    run_dir: Path,
    report: Report,
    kept: Mapping[str, bytes] | None = None,
    notes: Iterable[str] = (),
    *,
    no_report: str | None = None,
    written: bool = True,
) -> ScriptResult:
    """Make the result from a finished report and the output files beside it.

    `kept` is the rest of the output, which could not be written to the files. `written` says whether the
    report was written, and `no_report` why it is not kept.
    """
    ends = {name: _end_of(run_dir / name, (kept or {}).get(name, b"")) for name in ("stdout", "stderr")}
    child = report.child or {}
    states = child.get("states")
    return ScriptResult(
        outcome=Outcome(report.outcome or Outcome.LOST),
        status=report.status,
        signal=report.signal,
        seconds=report.seconds or 0.0,
        start_method=report.start_method,
        enforced=child.get("enforced") == report.start_method,
        stdout=ends["stdout"].text,
        stderr=ends["stderr"].text,
        run_dir=run_dir,
        peak_memory_bytes=report.peak_memory_bytes,
        exception=report.exception,
        wakes=tuple(child.get("wakes") or ()),
        states=None if states is None else tuple(states),
        left_behind=tuple(report.left_behind or ()),
        warm=report.warm is not None and report.cold_because is None,
        cold_because=report.cold_because,
        caps=report.caps,
        no_report=no_report,
        attempts=tuple(map(_attempt, report.attempts or ())),
        notes=(*notes, *_without_room(report), *(end.note for end in ends.values() if end.note is not None)),
        unwritten=report.told() if no_report is not None or not written else None,
    )


def _attempt(listed: Mapping[str, Any]) -> Attempt:
    return Attempt(
        listed["id"],
        Outcome(listed["outcome"] or Outcome.LOST),
        listed["status"],
        listed["signal"],
        listed["seconds"] or 0.0,
    )


def _without_room(report: Report) -> Iterator[str]:
    """Yield a sentence for each output that could not be written."""
    for name, counted in report.output.items() if isinstance(report.output, dict) else ():
        if counted["trouble"] is not None:
            yield (
                f"could not write {counted['left_out']} of {counted['bytes']} bytes of {name} to its file: "
                f"{counted['trouble']}"
            )


@dataclass(frozen=True, slots=True)
class _End:
    """The last part of an output."""

    text: str
    note: str | None
    """Why this is not the complete end."""


def _end_of(file: Path, beyond: bytes) -> _End:
    """Return the last part of an output: from the file, and from the bytes that did not fit into it."""
    kept, note = b"", None
    try:
        with file.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - OUTPUT_KEPT))
            kept = stream.read()
    except OSError as error:
        note = f"cannot read {file.name} from its file: {error.strerror}"
    return _End((kept + beyond)[-OUTPUT_KEPT:].decode("utf-8", "backslashreplace"), note)


_READ = 64 * 1024
"""How many bytes of an output's end are searched for errors."""


def troubles_of(exception: Mapping[str, Any] | None, errors: str = "") -> tuple[Trouble, ...]:
    """Return the troubles that an exception, its causes, or a script's error output reveals."""
    from coldfork.knowledge.troubles import seen_in

    return tuple(seen_in("\n".join([errors[-_READ:], *_lines_of(exception)])))


def quoted(trouble: Trouble) -> str:
    """Return a trouble as one line: its name, cause and remedy, and the next command to type."""
    said = f"{trouble.name}: {trouble.cause} {trouble.remedy}"
    return said if trouble.command is None else f"{said} Next: {trouble.command}"


def _lines_of(exception: Mapping[str, Any] | None) -> Iterator[str]:
    if exception is not None:
        for error in (exception, *(exception.get("caused_by") or ())):
            yield f"{error.get('type')}: {error.get('message')}"
