"""What a call that waits for a script does with what it hears, whether or not it has an event loop."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any

from coldfork.launch.script import run_directory
from coldfork.launch.script.output_lines import OutputLine, OutputLines
from coldfork.launch.script.plan import Prepared, ScriptRequest, prepare
from coldfork.launch.script.result import ScriptResult, result_of
from coldfork.launch.supervisor import client, report_file
from coldfork.launch.supervisor.client import Supervised
from coldfork.model.errors import ColdforkError, UsageError

Progress = Callable[[int, int], object]
OnLine = Callable[[OutputLine], object]
Given = bytes | str | int | IO[Any] | None


class Following:
    """One script: started, heard, and brought to its result."""

    def __init__(self, prepared: Prepared, supervised: Supervised, on_progress: Progress | None) -> None:
        self.supervised = supervised
        self.lines = OutputLines(prepared.directory.path)
        self.up = False
        """Whether the script's interpreter has come to the script."""
        self._prepared = prepared
        self._on_progress = on_progress
        self._troubles: list[str] = []
        self._refused: dict[str, Any] | None = None
        self._unwritten: int | None = None
        self._started = False
        self._ended = False

    def take(self, message: dict[str, Any] | None, *, quietly: bool = False) -> bool:
        """Take in one message; False after the last one. `quietly` calls nobody back."""
        kind = None if message is None else message["is"]
        if message is None or kind in ("ended", "refused"):
            self._ended = kind == "ended"
            self._refused = message if kind == "refused" else None
            return False
        if kind == "started":
            self._started = True
        elif kind == "up":
            self.up = True
        elif kind == "progress" and self._on_progress is not None and not quietly:
            self._on_progress(message["done"], message["total"])
        elif kind == "trouble":
            self._troubles.append(message["text"])
        elif kind == "unwritten":
            self._unwritten = message["errno"]
        return True

    def result(self) -> ScriptResult:
        """Let the supervisor go, and say how it ended. It may wait a little, so not in an event loop."""
        report = self.conclude(captured=True)
        path = self._prepared.directory.path
        if self._unwritten is not None:
            raise ColdforkError(
                f"the script has ended, but its report in {path} could not be written: "
                f"{os.strerror(self._unwritten)}"
            )
        if report is None:
            raise ColdforkError(f"the script has ended, but its report in {path} is gone")
        return result_of(path, report)

    def conclude(self, *, captured: bool) -> dict[str, Any] | None:
        """Let the supervisor go, and see to what it left undone; the last report, None if that is gone."""
        status = self.supervised.leave(captured=captured)
        prepared = self._prepared
        if self._refused is not None:
            raise UsageError(_refusal(prepared, self._refused))
        if self._ended:
            return report_file.read(os.fspath(prepared.directory.path))
        self.supervised.clear_away()
        run_directory.abandon(prepared.directory.path, prepared.report)
        if not self._started:
            said = "".join(self._troubles).strip() or f"it ended with {status}"
            # In the foreground Python itself has said it, on the terminal.
            raise ColdforkError(
                "the supervisor of the script could not begin" + (f": {said}" if captured else "")
            )
        return prepared.report


def _refusal(prepared: Prepared, refused: Mapping[str, Any]) -> str:
    """Write down that the system would not start a script, and say so."""
    why = os.strerror(refused["errno"])
    report = {**prepared.report, "state": "ended", "outcome": "not-started"}
    report_file.write(os.fspath(prepared.directory.path), report)
    if refused["what"] == "cwd":
        return f"cannot start the script in {report['cwd']}: {why}"
    return f"cannot start the Python interpreter {prepared.python!r}: {why}"


def begin(request: ScriptRequest, stdin: Given, on_progress: Progress | None) -> Following:
    """Prepare a script and start it. It may wait a little, so not in an event loop."""
    given = _input(stdin)
    try:
        prepared = prepare(request)
        supervised = start(prepared, given)
    finally:
        os.close(given)
    return Following(prepared, supervised, on_progress)


def start(prepared: Prepared, given: int | None = None, mask: Iterable[int] | None = None) -> Supervised:
    """Start what was prepared, and leave its run directory to the supervisor."""
    directory = prepared.directory
    try:
        python = client.own_interpreter(prepared.python)
        return client.start(python, prepared.job, directory.mark, directory.lock, given, mask)
    except BaseException:
        run_directory.abandon(directory.path, prepared.report)
        raise
    finally:
        directory.let_go()


def _input(stdin: Given) -> int:
    """A descriptor of ours for the script's standard input."""
    if stdin is None:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    if isinstance(stdin, str):
        return client.input_of(stdin.encode("utf-8", "surrogateescape"))
    if isinstance(stdin, bytes | bytearray | memoryview):
        return client.input_of(bytes(stdin))
    try:
        return os.dup(stdin if isinstance(stdin, int) else stdin.fileno())
    except (OSError, AttributeError, ValueError):
        raise UsageError(
            f"stdin={stdin!r} cannot be read from: give bytes, a text, an open file or its descriptor"
        ) from None
