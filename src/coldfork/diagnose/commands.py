"""Runs a command as a shell would, keeps its output, and makes a recording if the command runs Python."""

from __future__ import annotations

import io
import os
import re
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic, sleep
from typing import IO, BinaryIO

from coldfork.diagnose import standstill
from coldfork.launch import state_folder
from coldfork.model.errors import ColdforkError, UsageError

_PYTHON = re.compile(r"^(?:python(?:3(?:\.\d+)?)?|pypy3?)(?:\.exe)?$")
_DRAIN_SECONDS = 5.0
"""How long a process that the command left behind may keep the pipes open before they are abandoned."""
_BLOCK = 65536
_GRACE_SECONDS = 3.0
"""How long a command may take to end after a signal; after that its stacks are taken."""
_FAILED_PROCESS = re.compile(rb"(?:^|[\s\]])Process ([A-Za-z]\w*-[\d:]*\d+):[ \r]*$", re.MULTILINE)
_FAILED_START = re.compile(rb", in spawn_main\b")
"""A spawned process that fails while importing the program has no name yet."""
_RESPAWNED = 12
"""If this many processes fail one after another while the program goes on, it keeps respawning them."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    status: int
    """As a shell reports it: 128 plus the signal's number if a signal ended the command."""
    recording: Path | None
    why: str | None = None
    """Why coldfork ended it; None if it ended by itself."""
    asked: tuple[int, ...] = ()
    """The processes that were asked to dump their stacks."""


class _Attempt:
    """One run of a command: copies its output to the log, and queues its signals, its respawns and
    its end.
    """

    def __init__(self, log: IO[bytes], sources: Sequence[IO[bytes]]) -> None:
        self.log = log
        self._sources = sources
        self.news: SimpleQueue[int | str] = SimpleQueue()
        """The number of a signal, `ended`, or `respawning`."""
        self._failed: set[bytes] = set()
        self._unnamed = 0
        self._noticed = False
        self._lock = threading.Lock()

    def pump(self, source: IO[bytes], target: IO[str]) -> None:
        """Copy a stream to its usual destination and to the log."""
        shown: BinaryIO | None = getattr(target, "buffer", None)
        while block := self._taken(source):
            try:
                if shown is not None:
                    shown.write(block)
                    shown.flush()
            except (OSError, ValueError):
                shown = None  # the reader of the output is gone, but the log is still written

    def _taken(self, source: IO[bytes]) -> bytes:
        """Wait for output, and return it when it is in the log; empty at the end."""
        if os.name == "nt":  # pipes cannot be polled there, and nothing catches up
            block = os.read(source.fileno(), _BLOCK)
            with self._lock:
                return self._logged(block)
        ready = select.poll()
        ready.register(source, select.POLLIN)
        ready.poll()
        with self._lock:
            return self._logged(os.read(source.fileno(), _BLOCK))

    def _logged(self, block: bytes) -> bytes:
        self.log.write(block)
        self._count(block)
        return block

    def catch_up(self) -> None:
        """Wait until the log has everything that was written before this call."""
        import fcntl
        import termios

        deadline = monotonic() + _DRAIN_SECONDS
        while monotonic() < deadline:
            # With the lock, nothing has left a pipe without being in the log.
            with self._lock:
                waiting = [fcntl.ioctl(source, termios.FIONREAD, bytes(4)) for source in self._sources]
            if not any(map(any, waiting)):
                return
            sleep(0.001)

    def _count(self, block: bytes) -> None:
        if self._noticed:
            return
        self._failed.update(_FAILED_PROCESS.findall(block))
        self._unnamed += len(_FAILED_START.findall(block))
        if max(len(self._failed), self._unnamed) >= _RESPAWNED:
            self._noticed = True
            self.news.put("respawning")

    def so_far(self) -> io.BytesIO:
        """Return everything that the command has printed so far."""
        with self._lock:
            self.log.flush()
            return io.BytesIO(os.pread(self.log.fileno(), os.fstat(self.log.fileno()).st_size, 0))


def run(
    command: Sequence[str],
    log: IO[bytes],
    limit: float | None = None,
    respawning: Callable[[BinaryIO], None] | None = None,
) -> Ran:
    """Run the command, and copy its output both to its usual destination and to the log.

    After `limit` seconds, or a while after a signal, the command is ended, and its processes dump their
    stacks.
    """
    recording = _recording(command)
    line = _watched(command, recording) if recording is not None else list(command)
    variables = {standstill.FAULTHANDLER: "1", **os.environ}
    try:
        process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables)
    except OSError as error:
        raise UsageError(f"cannot run {command[0]}: {error.strerror}") from None
    assert process.stdout is not None
    assert process.stderr is not None
    attempt = _Attempt(log, (process.stdout, process.stderr))
    streams = ((process.stdout, sys.stdout), (process.stderr, sys.stderr))
    pumps = [Thread(target=attempt.pump, args=stream, daemon=True) for stream in streams]
    for pump in pumps:
        pump.start()
    ran = Ran(0, recording)
    with _heard(attempt.news):
        Thread(target=_awaited, args=(process, attempt.news), daemon=True).start()
        ran = _attended(process, attempt, ran, limit, respawning)
    for pump in pumps:
        pump.join(_DRAIN_SECONDS)
    log.flush()
    status = process.returncode
    return replace(ran, status=status if status >= 0 else 128 - status)


def _awaited(process: subprocess.Popen[bytes], news: SimpleQueue[int | str]) -> None:
    process.wait()
    news.put("ended")


def _attended(
    process: subprocess.Popen[bytes],
    attempt: _Attempt,
    ran: Ran,
    limit: float | None,
    respawning: Callable[[BinaryIO], None] | None,
) -> Ran:
    """Wait until the command ends or its time is up, and handle signals and respawns in the meantime."""
    why = None if limit is None else f"it had not ended after {limit:g} s (--timeout)"
    deadline = None if limit is None else monotonic() + limit
    while True:
        try:
            news = attempt.news.get(timeout=None if deadline is None else max(0.0, deadline - monotonic()))
        except Empty:
            spared = ran.recording is not None
            asked = standstill.ended(process.pid, attempt.log, attempt.catch_up, spare_root=spared)
            process.wait()
            return replace(ran, why=why, asked=asked)
        if news == "ended":
            return ran
        if news == "respawning":
            if respawning is not None:
                respawning(attempt.so_far())
        elif isinstance(news, int):
            # The terminal sends Ctrl-C to the command as well; signals from elsewhere have to be passed on.
            if news != signal.SIGINT or not sys.stdin.isatty():
                with suppress(ProcessLookupError):
                    process.send_signal(news)
            name = signal.Signals(news).name
            why = f"it had not ended {_GRACE_SECONDS:g} s after {name}"
            deadline = min(deadline or monotonic() + _GRACE_SECONDS, monotonic() + _GRACE_SECONDS)


@contextmanager
def _heard(news: SimpleQueue[int | str]) -> Iterator[None]:
    """Queue SIGINT and SIGTERM instead of ending, so that the command's failure can still be explained."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda got, _: news.put(got)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _recording(command: Sequence[str]) -> Path | None:
    """Return where to put a recording; None if the command is not Python or cannot be watched on this
    system.
    """
    watchable = sys.platform == "darwin" or sys.platform.startswith("linux")
    if not watchable or _PYTHON.match(Path(command[0]).name) is None or len(command) < 2:
        return None
    try:
        return state_folder.new_place(hold=False)
    except ColdforkError:
        return None


def _watched(command: Sequence[str], recording: Path) -> list[str]:
    ours = [sys.executable, "-m", "coldfork", "run", "--follow", "--quiet", "--output", str(recording)]
    return [*ours, "--python", command[0], *command[1:]]
