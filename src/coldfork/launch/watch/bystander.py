"""Follow a watched program's recording as it grows, and add events that its processes cannot report.

Examples are the end of a killed process, and processes that report nothing at all. The bystander reads only
the kernel's process table, and never asks the program itself.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from coldfork.launch.plumbing.linux.kernel import children
from coldfork.launch.watch.ends import Ended, Ends, chosen
from coldfork.observe.bootstrap import VARIABLE
from coldfork.observe.processes.identity import command_line, environment, executable
from coldfork.observe.processes.programs import is_own, is_python, locked_out
from coldfork.observe.processes.table import Standing, has_executed, standing
from coldfork.observe.recording import redaction
from coldfork.observe.recording.events import decode

_NOBODY_UNHEARD = 0.05
_SOMEBODY_UNHEARD = 0.01
"""The pause between looks, in seconds, while there is a process that may become an unwatched Python."""
_PATIENCE = 0.5
"""How long it waits for processes that outlive the program by a moment, such as resource trackers."""
_REST = 40
"""After each look it rests this many times as long as the look took, to stay cheap with many processes."""
_BULKY = b'{"event":"import"'


@dataclass
class _Seen:
    """A process of the program, as far as the bystander knows it."""

    kin: Standing
    at: float
    heard: bool = False
    """Whether the process reports events itself."""
    attended: bool = False
    own: bool = False
    """Whether the process works for coldfork, so that it is no concern of the program."""
    python: str | None = None
    hidden: str | None = None
    command: list[str] = field(default_factory=list)
    executed: bool = True
    """Whether it has executed a program of its own, instead of running its parent's."""
    became: bool = False
    """Whether it reported events before it became another program by `exec`."""


class Bystander:
    """The thread that observes one program from outside; `tell` adds an event to the recording."""

    def __init__(
        self, recording: Path, root: int, began: float, tell: Callable[[dict[str, Any]], object]
    ) -> None:
        self._recording = recording
        self._root = root
        self._began = began
        self._tell = tell
        self._ends = chosen()
        self._known: dict[int, _Seen] = {}
        self._heard: set[int] = set()
        self._gone: set[tuple[int, int]] = set()
        """Processes that have ended; they remain in the table until they are waited for."""
        self._rest = b""
        self._read = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._stand, name="coldfork-bystander", daemon=True)

    def start(self) -> None:
        """Start observing."""
        if self._ends is not None:
            self._thread.start()

    def stop(self) -> None:
        """Stop observing, after the processes that end with the program have ended too."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _stand(self) -> None:
        # Leave all signals to the thread that waits for the program.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        assert self._ends is not None
        try:
            self._ends.attend(self._root)
            while not self._over.is_set():
                for ended in self._ends.wait(self._look()):
                    self._listen()
                    self._end(ended)
            self._wait_for_the_rest(self._ends, monotonic() + _PATIENCE)
            for seen in self._known.values():
                self._tell_last(seen, {"event": "running"})
        finally:
            self._ends.close()

    def _wait_for_the_rest(self, ends: Ends, until: float) -> None:
        self._look()
        while any(seen.attended for seen in self._known.values()) and monotonic() < until:
            for ended in ends.wait(self._look()):
                self._listen()
                self._end(ended)

    def _look(self) -> float:
        """Read new events, examine the processes, and return the seconds until the next examination."""
        began = monotonic()
        self._listen()
        for pid in self._below(self._root):
            seen = self._known.get(pid) or self._met(pid)
            if seen is not None and not seen.heard:
                self._look_at(seen)
        quiet = all(seen.heard for seen in self._known.values())
        return max(_NOBODY_UNHEARD if quiet else _SOMEBODY_UNHEARD, _REST * (monotonic() - began))

    def _below(self, root: int) -> Iterator[int]:
        """Yield all descendants of the program, including those whose parents have ended."""
        waiting = [root, *self._known]
        met: set[int] = set()
        while waiting:
            pid = waiting.pop()
            if pid in met:
                continue
            met.add(pid)
            if pid != root or pid in self._known:
                yield pid
            with suppress(NotImplementedError):
                waiting.extend(children(pid))

    def _met(self, pid: int) -> _Seen | None:
        found = standing(pid)
        if found is None or pid == self._root or (pid, found.start) in self._gone:
            return None
        seen = self._known[pid] = _Seen(found, monotonic() - self._began, pid in self._heard)
        if self._ends is not None:
            seen.attended = self._ends.attend(pid)
        return seen

    def _look_at(self, seen: _Seen) -> None:
        executed = has_executed(seen.kin.pid)
        running = executable(seen.kin.pid)
        if executed != has_executed(seen.kin.pid):
            # The process has executed another program between the two readings.
            executed, running = True, executable(seen.kin.pid)
        if running is not None:
            # The program that ran before the exec no longer matters.
            seen.executed = executed
            seen.command = command_line(seen.kin.pid) or seen.command
            seen.python = running if is_python(running) else None
            if seen.python and seen.hidden is None:
                given = environment(seen.kin.pid)
                seen.own = is_own(given)
                seen.hidden = locked_out(seen.command, given, VARIABLE)

    def _listen(self) -> None:
        """Read new events in the recording; the bystander need not describe processes that report events."""
        try:
            with self._recording.open("rb") as stream:
                stream.seek(self._read)
                data = stream.read()
        except OSError:
            return
        self._read += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(_BULKY):
                continue
            with suppress(ValueError):
                event = decode(line.decode("ascii"))
                if isinstance(event, dict):
                    self._hear(event)

    def _hear(self, event: dict[str, Any]) -> None:
        kind, pid, child = event.get("event"), event.get("pid"), event.get("child")
        if kind == "process" and isinstance(pid, int):
            self._heard.add(pid)
            seen = self._known.get(pid) or self._met(pid)
            if seen is not None:
                seen.heard, seen.became = True, False
                if event.get("ppid") != seen.kin.parent:
                    # The bystander saw the process's original parent, which has ended since, so record that
                    # one.
                    self._tell_of(seen)
        elif kind == "exec" and isinstance(pid, int):
            self._became_another(pid)
        elif kind in ("forked", "spawn") and isinstance(child, int) and child not in self._known:
            self._met(child)

    def _became_another(self, pid: int) -> None:
        """Examine a process again after it has executed another program, which may not report any events."""
        found = standing(pid)
        if found is not None and not found.has_ended:
            self._heard.discard(pid)
            former = self._known.get(pid)
            attended = former is not None and former.attended
            self._known[pid] = _Seen(found, monotonic() - self._began, attended=attended, became=True)

    def _end(self, ended: Ended) -> None:
        if ended.pid == self._root:
            self._over.set()
        seen = self._known.pop(ended.pid, None)
        if seen is None:
            return
        self._gone.add((ended.pid, seen.kin.start))
        if not seen.own:
            self._heard.discard(ended.pid)
        event: dict[str, Any] = {
            "event": "exit",
            "status": ended.status,
            "signal": ended.signal,
            "states": [],
        }
        self._tell_last(seen, event)

    def _tell_last(self, seen: _Seen, event: dict[str, Any]) -> None:
        """Add an event that says how a process ended, or that it still runs."""
        if seen.own:
            return
        if not seen.heard and (not seen.became or (seen.python and seen.executed)):
            self._tell_of(seen)
        now = round(monotonic() - self._began, 6)
        self._tell({**event, "t": now, "pid": seen.kin.pid, "start": seen.kin.start})

    def _tell_of(self, seen: _Seen) -> None:
        """Add an entry about a process that has not reported any event itself."""
        self._tell(
            {
                "event": "seen",
                "t": round(seen.at, 6),
                "pid": seen.kin.pid,
                "ppid": seen.kin.parent,
                "start": seen.kin.start,
                "command": redaction.command(seen.command),
                "executed": seen.executed,
                "python": seen.python,
                "hidden": seen.hidden,
                "became": seen.became,
            }
        )
