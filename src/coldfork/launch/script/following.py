"""A running script as its caller sees it: the supervisor's messages and their consequences."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property

from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.plumbing.loop import readable
from coldfork.launch.script import run_directory
from coldfork.launch.script.attempts import (
    OUT_OF_DESCRIPTORS,
    StandardInput,
    told_of_descriptors,
    too_few,
    warn,
)
from coldfork.launch.script.own_clock import OwnClock
from coldfork.launch.script.plan import prepare
from coldfork.launch.supervisor import client, report_file
from coldfork.launch.supervisor.report_file import Report
from coldfork.model.errors import ColdforkError, UsageError
from coldfork.observe.recording.events import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from coldfork.launch.script.output_lines import OutputLines
    from coldfork.launch.script.plan import Prepared
    from coldfork.launch.script.request import Progress, ScriptRequest
    from coldfork.launch.script.result import ScriptResult
    from coldfork.launch.supervisor.client import Supervised


class Following:
    """One running script. Its supervisor's messages are read and handled here, up to the result."""

    def __init__(
        self,
        prepared: Prepared,
        supervised: Supervised,
        on_progress: Progress | None,
        *,
        captured: bool = True,
    ) -> None:
        self.supervised = supervised
        self.clock: OwnClock = OwnClock(supervised.pid, prepared.job["timeout"], prepared.job["grace"])
        self.up: bool = False
        """Whether the interpreter has reached the script."""
        self._prepared = prepared
        self._captured = captured
        self._on_progress = on_progress
        self._troubles: list[str] = []
        self._refused: dict[str, Any] | None = None
        self._unwritten: int | None = None
        self._kept: dict[str, bytearray] = {}
        self._started = False
        self._ended = False
        self.report: Report = prepared.report
        """The report: first of how the script began, finally of how it ended."""

    @cached_property
    def lines(self) -> OutputLines:
        """Return the lines of the script's captured output."""
        from coldfork.launch.script.output_lines import OutputLines

        return OutputLines(self._prepared.directory.path)

    def end(self, why: str) -> None:
        """Ask the supervisor to end the script: politely, then by force after the grace period."""
        self.supervised.end(why)
        self.clock.asked(why)

    def kill(self, why: str) -> None:
        """Have the script and all its processes killed at once."""
        self.supervised.kill(why)
        self.clock.asked(why)

    def receive(self) -> dict[str, Any] | None:
        """Wait for the supervisor's next message; None if the supervisor is gone."""
        while not readable([self.supervised.socket.fileno()], self.clock.left()):
            self.clock.look()
        return self.supervised.receive()

    def take(self, message: dict[str, Any] | None, *, quietly: bool = False) -> bool:
        """Handle one message; return False after the last one. With `quietly`, call no callbacks."""
        kind = None if message is None else message["is"]
        if message is None or kind in ("ended", "refused"):
            self._ended = kind == "ended"
            self._refused = message if kind == "refused" else None
            if self._captured:
                # Keep the files open, because the last lines may be read after the files have been deleted.
                self.lines.hold()
            return False
        if kind == "started":
            self._started = True
            self.clock.begin()
        elif kind == "up":
            self.up = True
        elif kind == "progress" and self._on_progress is not None and not quietly:
            self._on_progress(message["done"], message["total"])
        elif kind == "trouble":
            self._troubles.append(message["text"])
        elif kind == "unwritten":
            self._unwritten = message["errno"]
        elif kind == "kept":
            self._kept.setdefault(message["what"], bytearray()).extend(message["piece"].encode("latin-1"))
        return True

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the problems with the script's supervision, one sentence for each."""
        unwritten = self._unwritten and f"cannot write the report: {os.strerror(self._unwritten)}"
        return tuple(note for note in (unwritten, self.clock.note) if note)

    def result(self) -> ScriptResult:
        """Release the supervisor and return the script's result. This may block briefly, so not for event
        loops.
        """
        try:
            return self._result()
        finally:
            self._prepared.directory.discard()

    def _result(self) -> ScriptResult:
        from coldfork.launch.script.result import result_of

        report = self.conclude(captured=True)
        path = self._prepared.directory.path
        if report is None:
            raise ColdforkError(f"the script has ended, but its report in {path} is gone")
        self.report = report
        kept = {what: bytes(content) for what, content in self._kept.items()}
        self.lines.add(kept)
        return result_of(
            path,
            report,
            kept,
            self.notes,
            no_report=self._prepared.directory.no_report,
            written=self._unwritten is None,
        )

    def conclude(self, *, captured: bool) -> Report | None:
        """Release the supervisor and complete its work; return the last report, or None if the report is
        gone.
        """
        status = self.supervised.leave(captured=captured, ended=self._ended)
        prepared = self._prepared
        if self._refused is not None:
            raise UsageError(_refusal(prepared, self._refused))
        if self._ended:
            kept = self._kept.get("report")
            if kept is None:
                return report_file.read(os.fspath(prepared.directory.path))
            return Report(decode(kept.decode("ascii")))
        self.supervised.clear_away()
        if self.clock.outcome is not None:
            prepared.report.seconds = round(self.clock.seconds, 6)
        run_directory.abandon(prepared.directory.path, prepared.report, self.clock.outcome or "lost")
        if not self._started and self.clock.note is not None:
            raise ColdforkError(self.clock.note)
        if not self._started:
            said = "".join(self._troubles).strip() or f"it ended with {status}"
            # In the foreground, Python has already printed the error on the terminal.
            raise ColdforkError("the script's supervisor could not begin" + (f": {said}" if captured else ""))
        return prepared.report


def _refusal(prepared: Prepared, refused: Mapping[str, Any]) -> str:
    """Record that the system refused to start a script, and return a sentence that says why."""
    why = os.strerror(refused["errno"])
    report = prepared.report
    report.end("not-started")
    with suppress(OSError):
        report_file.write(os.fspath(prepared.directory.path), report)
    if refused["what"] == "cwd":
        return f"cannot start the script in {report.cwd}: {why}"
    if refused["what"] == "supervisor":
        if refused["errno"] in OUT_OF_DESCRIPTORS:
            return too_few("the script's supervisor")
        return (
            f"the script was not started: its supervisor could not begin in {prepared.directory.path}: {why}"
        )
    return f"cannot start the Python interpreter {prepared.python!r}: {why}"


def begin(
    request: ScriptRequest,
    stdin: StandardInput,
    earlier: Sequence[Mapping[str, Any]] = (),
    *,
    streamed: bool,
) -> Following:
    """Prepare a script and start it. This may block briefly, so not for event loops."""
    with told_of_descriptors():
        given = stdin.opened()
        try:
            prepared = prepare(request, earlier, streamed=streamed)
            if prepared.directory.no_report is not None and request.report:
                warn(f"no report of this run is kept: {prepared.directory.no_report}")
            from coldfork.launch.supervisor.limits import device_complaint

            if said := device_complaint(prepared.report.caps):
                warn(said)
            supervised = start(prepared, given)
        finally:
            os.close(given)
    return Following(prepared, supervised, request.on_progress)


def start(
    prepared: Prepared,
    given: int | None = None,
    mask: Iterable[int] | None = None,
    *,
    forked: bool = False,
) -> Supervised:
    """Start a prepared script, and hand its run directory over to the supervisor.

    With `forked`, this process exists only for the script, and may fork the supervisor itself.
    """
    directory = prepared.directory
    try:
        warm = _start_warm(prepared, given, mask)
        if warm is not None:
            return warm
        if forked and mask is not None and kernel.is_single_threaded():
            from coldfork.launch.supervisor import forked as supervisor

            return supervisor.start(prepared.handed_over(), directory.mark, directory.lock, mask)
        from coldfork.launch.plumbing.interpreter import own_interpreter

        python = own_interpreter(prepared.python)
        return client.start(python, prepared.handed_over(), directory.mark, directory.lock, given, mask)
    except BaseException:
        run_directory.abandon(directory.path, prepared.report)
        directory.discard()
        raise
    finally:
        directory.let_go()


def _start_warm(prepared: Prepared, given: int | None, mask: Iterable[int] | None) -> Supervised | None:
    """Start the script from a server, if requested; if no server can start it, return None and report the
    reason.
    """
    wanted, directory = prepared.wanted, prepared.directory
    if wanted is None:
        return None
    from coldfork.launch.server.warm.attachment import Cold, Handover, attach

    prepared.report.warm = {"modules": list(wanted.modules), "cold_because": None}
    handover = Handover(prepared.handed_over(), directory.mark, directory.lock, given, mask)
    attached = attach(wanted, handover)
    if isinstance(attached, Cold):
        prepared.report.warm["cold_because"] = attached.why
        return None
    return attached
