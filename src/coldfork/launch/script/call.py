"""Runs a Python script in an interpreter, an environment and a process tree of its own, and follows it.

What a call that waits for a script does with what it hears is the same whether or not it has an event loop.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from coldfork.launch.readiness import readable
from coldfork.launch.script import run_directory
from coldfork.launch.script.descriptors import OUT_OF_DESCRIPTORS, told_of_descriptors, too_few
from coldfork.launch.script.environment import Devices
from coldfork.launch.script.output_lines import OutputLine, OutputLines
from coldfork.launch.script.own_clock import OwnClock
from coldfork.launch.script.plan import GRACE_SECONDS, MOST_OUTPUT, Prepared, ScriptRequest, Words, prepare
from coldfork.launch.script.result import Outcome, ScriptError, ScriptResult, result_of
from coldfork.launch.supervisor import client, report_file
from coldfork.launch.supervisor.client import Supervised
from coldfork.model.errors import ColdforkError, UsageError
from coldfork.observe.recording.events import decode

__all__ = ["Outcome", "OutputLine", "ScriptError", "ScriptResult", "run_script"]


def run_script(
    script: str | os.PathLike[str],
    args: Words = (),
    *,
    devices: Devices = None,
    env: Mapping[str, str | None] | None = None,
    inherit_env: bool = True,
    start_method: str = "spawn",
    timeout: float | None = None,
    cwd: str | os.PathLike[str] | None = None,
    log_dir: str | os.PathLike[str] | None = None,
    stdin: Given = None,
    check: bool = False,
    on_line: OnLine | None = None,
    on_progress: Progress | None = None,
    python: str | os.PathLike[str] | None = None,
    grace: float = GRACE_SECONDS,
    most_output: int = MOST_OUTPUT,
    warm: Sequence[str] = (),
    max_memory: int | str | None = None,
    max_cpu: float | None = None,
) -> ScriptResult:
    """Run a Python script isolated from what this process has done to accelerators, and wait for its end.

    `script` is a file, or `"-m"` with the module as the first of `args`. The script runs in a new interpreter
    with `start_method` as its default start method and with the environment of the table in
    `coldfork.launch.script.environment`; `env` adds to it, and takes away what it maps to None. `devices` are
    places in the list of devices that this process sees, their identifiers, or a lease of `coldfork.lease`.

    After `timeout` seconds the script and all it started are asked to end, and killed `grace` seconds later.
    The same happens when this call is interrupted, and when this process dies. What it leaves running when it
    ends is ended, too.

    `stdin` is what it reads: bytes, a text or an open file; without it, nothing. Its output, its errors and a
    report lie in a new folder in `log_dir`, else in the user's state folder. `on_line` is called with each
    `OutputLine` as it is written, `on_progress` with what the script says to `coldfork.progress`.

    The script and all it starts together may hold `max_memory`, bytes or a text such as `"2 GiB"`, and are
    killed for more; they may use `max_cpu` seconds of processor time.

    `warm` are modules that a server keeps imported from which the script is then forked: see `coldfork warm`.
    Where no server can start it, it is started as ever, and the result says in `cold_because` why.

    Returns a `ScriptResult` however it ends; with `check`, a script that did not succeed is a `ScriptError`.
    What cannot be started is a `ColdforkError` that says why.
    """
    request = ScriptRequest(
        script=script,
        args=args,
        devices=devices,
        env=env,
        inherit_env=inherit_env,
        start_method=start_method,
        timeout=timeout,
        cwd=cwd,
        log_dir=log_dir,
        python=python,
        grace=grace,
        most_output=most_output,
        streamed=on_line is not None,
        warm=warm,
        max_memory=max_memory,
        max_cpu=max_cpu,
    )
    following = begin(request, stdin, on_progress)
    try:
        result = _wait(following, on_line)
    finally:
        following.lines.close()
    return checked(result, check=check)


def checked(result: ScriptResult, *, check: bool) -> ScriptResult:
    """The result, or the error that it is for those who asked for one."""
    if check and not result.ok:
        raise ScriptError(result)
    return result


def _wait(following: Following, on_line: OnLine | None) -> ScriptResult:
    try:
        while following.take(following.receive()):
            _give_out(following, on_line)
    except BaseException:
        # Ctrl-C, or a callback that failed: whoever asked for the script wants it no more.
        following.end("cancelled")
        _until_gone(following)
        following.result()
        raise
    result = following.result()
    _give_out(following, on_line, last=True)
    return result


def _until_gone(following: Following) -> None:
    while True:
        try:
            if not following.take(following.receive(), quietly=True):
                return
        except KeyboardInterrupt:
            following.kill("cancelled")


def _give_out(following: Following, on_line: OnLine | None, *, last: bool = False) -> None:
    if on_line is not None:
        for line in following.lines.all(last=last):
            on_line(line)


Progress = Callable[[int, int], object]
OnLine = Callable[[OutputLine], object]
Given = bytes | str | int | IO[Any] | None


class Following:
    """One script: started, heard, and brought to its result."""

    def __init__(self, prepared: Prepared, supervised: Supervised, on_progress: Progress | None) -> None:
        self.supervised = supervised
        self.clock = OwnClock(supervised.pid, prepared.job["timeout"], prepared.job["grace"])
        self.lines = OutputLines(prepared.directory.path)
        self.up = False
        """Whether the script's interpreter has come to the script."""
        self._prepared = prepared
        self._on_progress = on_progress
        self._troubles: list[str] = []
        self._refused: dict[str, Any] | None = None
        self._unwritten: int | None = None
        self._kept: dict[str, bytearray] = {}
        self._started = False
        self._ended = False

    def end(self, why: str) -> None:
        """Ask for the script's end: first politely, then after its grace."""
        self.supervised.end(why)
        self.clock.asked(why)

    def kill(self, why: str) -> None:
        """Have the script and all it started killed at once."""
        self.supervised.kill(why)
        self.clock.asked(why)

    def receive(self) -> dict[str, Any] | None:
        """The next message of the supervisor, waiting for it; None when it is gone."""
        while not readable([self.supervised.socket.fileno()], self.clock.left()):
            self.clock.look()
        return self.supervised.receive()

    def take(self, message: dict[str, Any] | None, *, quietly: bool = False) -> bool:
        """Take in one message; False after the last one. `quietly` calls nobody back."""
        kind = None if message is None else message["is"]
        if message is None or kind in ("ended", "refused"):
            self._ended = kind == "ended"
            self._refused = message if kind == "refused" else None
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
        """What went wrong around the script, a sentence each."""
        unwritten = self._unwritten and f"the report could not be written: {os.strerror(self._unwritten)}"
        return tuple(note for note in (unwritten, self.clock.note) if note)

    def result(self) -> ScriptResult:
        """Let the supervisor go, and say how it ended. It may wait a little, so not in an event loop."""
        report = self.conclude(captured=True)
        path = self._prepared.directory.path
        if report is None:
            raise ColdforkError(f"the script has ended, but its report in {path} is gone")
        kept = {what: bytes(content) for what, content in self._kept.items()}
        self.lines.add(kept)
        return result_of(path, report, kept, self.notes, written=self._unwritten is None)

    def conclude(self, *, captured: bool) -> dict[str, Any] | None:
        """Let the supervisor go, and see to what it left undone; the last report, None if that is gone."""
        status = self.supervised.leave(captured=captured, ended=self._ended)
        prepared = self._prepared
        if self._refused is not None:
            raise UsageError(_refusal(prepared, self._refused))
        if self._ended:
            kept = self._kept.get("report")
            if kept is None:
                return report_file.read(os.fspath(prepared.directory.path))
            report: dict[str, Any] = decode(kept.decode("ascii"))
            return report
        self.supervised.clear_away()
        if self.clock.outcome is not None:
            prepared.report["seconds"] = round(self.clock.seconds, 6)
        run_directory.abandon(prepared.directory.path, prepared.report, self.clock.outcome or "lost")
        if not self._started and self.clock.note is not None:
            raise ColdforkError(self.clock.note)
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
    with suppress(OSError):
        report_file.write(os.fspath(prepared.directory.path), report)
    if refused["what"] == "cwd":
        return f"cannot start the script in {report['cwd']}: {why}"
    if refused["what"] == "supervisor":
        if refused["errno"] in OUT_OF_DESCRIPTORS:
            return too_few("the script's supervisor")
        return (
            f"the script was not started: its supervisor could not begin in {prepared.directory.path}: {why}"
        )
    return f"cannot start the Python interpreter {prepared.python!r}: {why}"


def begin(request: ScriptRequest, stdin: Given, on_progress: Progress | None) -> Following:
    """Prepare a script and start it. It may wait a little, so not in an event loop."""
    with told_of_descriptors():
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
        warm = _start_warm(prepared, given, mask)
        if warm is not None:
            return warm
        python = client.own_interpreter(prepared.python)
        return client.start(python, prepared.job, directory.mark, directory.lock, given, mask)
    except BaseException:
        run_directory.abandon(directory.path, prepared.report)
        raise
    finally:
        directory.let_go()


def _start_warm(prepared: Prepared, given: int | None, mask: Iterable[int] | None) -> Supervised | None:
    """Have a server start it, if one was asked for; None, and why in the report, where none does."""
    wanted, directory = prepared.wanted, prepared.directory
    if wanted is None:
        return None
    from coldfork.launch.warm.attachment import Cold, Handover, attach

    prepared.report["warm"] = {"modules": list(wanted.modules), "cold_because": None}
    handover = Handover(prepared.job, directory.mark, directory.lock, given, mask)
    attached = attach(wanted, handover)
    if isinstance(attached, Cold):
        prepared.report["warm"]["cold_because"] = attached.why
        return None
    return attached


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
