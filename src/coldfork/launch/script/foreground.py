"""Runs an isolated script in the foreground of a terminal, as if it had been started directly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coldfork.launch.script import run_directory
from coldfork.launch.script.following import refusal, start
from coldfork.launch.script.plan import Prepared, ScriptRequest, prepare
from coldfork.launch.supervisor import report_file
from coldfork.launch.supervisor.client import Supervised
from coldfork.launch.terminal.supervision import Continued, Ending, Signals, Stopped, attend
from coldfork.model.errors import ColdforkError, UsageError

if TYPE_CHECKING:
    from coldfork.knowledge.troubles import Trouble

Progress = Callable[[int, int], object]
LOST = 1
"""The status of a script of which nobody knows how it ended."""


@dataclass(frozen=True, slots=True)
class Foreground:
    """A script that was run in the foreground."""

    ending: Ending
    outcome: str
    run_dir: Path
    left_behind: tuple[str, ...]
    exception: Mapping[str, Any] | None = None
    """The exception that ended it."""

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """Known troubles whose signs stand in its exception; its output it wrote to the terminal itself."""
        if self.exception is None:
            return ()
        from coldfork.launch.script.troubles import troubles_of

        return troubles_of(self.exception)


def run(request: ScriptRequest, on_progress: Progress) -> Foreground:
    """Run a script to its end. Its standard streams are ours, and so is its process group."""
    prepared = prepare(request)
    script: _Script | None = None

    def begin(signals: Signals) -> _Script:
        nonlocal script
        script = _Script(start(prepared, mask=signals.mask), on_progress)
        return script

    ending = attend(begin)
    assert script is not None
    return script.concluded(prepared, ending)


class _Script:
    """A script whose supervisor tells what becomes of it."""

    def __init__(self, supervised: Supervised, on_progress: Progress) -> None:
        self._supervised = supervised
        self._on_progress = on_progress
        self._refused: dict[str, Any] | None = None
        self._started = False
        self._lost = False
        supervised.socket.setblocking(False)

    def news(self) -> Iterator[Stopped | Continued | Ending]:
        """What the supervisor has said since the last time."""
        while True:
            try:
                message = self._supervised.receive()
            except BlockingIOError:
                return
            if message is None:
                self._lost = True
                yield Ending(LOST, None)
                return
            yield from self._said(message)

    def _said(self, message: dict[str, Any]) -> Iterator[Stopped | Continued | Ending]:
        kind = message["is"]
        if kind == "started":
            self._started = True
        elif kind == "progress":
            self._on_progress(message["done"], message["total"])
        elif kind == "stopped":
            yield Stopped(message["signal"])
        elif kind == "continued":
            yield Continued()
        elif kind == "refused":
            self._refused = message
            yield Ending(LOST, None)
        elif kind == "ended":
            yield Ending(message["status"], message["signal"])

    def hand_on(self, number: int) -> None:
        """Have the supervisor send the script a signal."""
        self._supervised.hand_on(number)

    def concluded(self, prepared: Prepared, ending: Ending) -> Foreground:
        """What there is to say afterwards."""
        self._supervised.leave(captured=False)
        path = prepared.directory.path
        if self._refused is not None:
            raise UsageError(refusal(prepared, self._refused))
        if self._lost:
            self._supervised.clear_away()
            run_directory.abandon(path, prepared.report)
            if not self._started:
                raise ColdforkError("the supervisor of the script could not begin")
            return Foreground(ending, "lost", path, ())
        report = report_file.read(str(path)) or {}
        return Foreground(
            ending,
            report.get("outcome") or "lost",
            path,
            tuple(report.get("left_behind") or ()),
            report.get("exception"),
        )
