"""Starts Python processes under watch, ends them with all they started, keeps the end of what they say."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from time import monotonic, sleep
from typing import Any

from coldfork.launch.plumbing.linux.kernel import signal_name
from coldfork.launch.plumbing.loop import readable
from coldfork.model.errors import UsageError
from coldfork.observe import bootstrap

TAIL_BYTES = 16_384
"""So much of the end of a process's output is kept, however much it prints."""
_LOOK_SECONDS = 0.05
_AFTER_SECONDS = 0.005
_DRAIN_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended, and the end of what it printed."""

    status: int | None
    """Its exit status; None when a signal or the time limit ended it."""
    signal: str | None
    """The name of the signal that ended it, unless that was ours."""
    timed_out: bool
    output: str
    cut: bool
    """True when `output` is only the end of what was printed."""
    sufficed: bool = False
    """True when we ended it because what was wanted of it had been seen."""


class Interrupted(Exception):
    """The process was ended because the caller wanted to stop."""


def require_watching(command: str, platform: str = sys.platform) -> None:
    """Refuse where processes cannot be watched."""
    if platform != "darwin" and not platform.startswith("linux"):
        raise UsageError(
            f"coldfork {command} needs Linux or macOS, because it starts and ends process groups; "
            f"this is {platform}"
        )


def environment(
    settings: Mapping[str, Any],
    base: Mapping[str, str] = os.environ,
    *,
    virtual: str | None = None,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> dict[str, str]:
    """The environment in which a Python process is watched.

    `settings` are those of `observe.bootstrap`. `virtual` is a virtual device, NAME or NAME:N. The folders in
    `before` and `after` stand on the process's path around those that PYTHONPATH names.
    """
    plain = {key: value for key, value in base.items() if key != bootstrap.VIRTUAL}
    if virtual:
        plain[bootstrap.VIRTUAL] = virtual
    inherited = plain.get("PYTHONPATH")
    if before or after:
        plain["PYTHONPATH"] = os.pathsep.join([*before, *([inherited] if inherited else []), *after])
    return bootstrap.environment(settings, plain)


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a group, with all of the group that is left."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        process.kill()
    process.wait()


def until_its_end(
    command: Sequence[str],
    variables: Mapping[str, str],
    *,
    timeout: float,
    stop: Callable[[], bool] = bool,
    suffices: Callable[[str], bool] | None = None,
) -> Ended:
    """Run a command in a session of its own until it ends, and end with it what it started.

    Raises `Interrupted` once `stop` says so. Output may come in any amount: only its end is kept. It is ended
    early once `suffices`, which is shown that end again and again, says so.
    """
    reading, writing = os.pipe()
    try:
        try:
            process = subprocess.Popen(
                list(command),
                env=dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                # Ctrl-C at the terminal is for us: we end what we started, whatever it does with signals.
                start_new_session=True,
            )
        finally:
            os.close(writing)
        os.set_blocking(reading, False)
        tail = _Tail(reading)
        return _ended(process, tail, _attend(process, tail, monotonic() + timeout, stop, suffices))
    finally:
        os.close(reading)


class _End(Enum):
    """Why a process was attended no longer."""

    ITS_OWN = "its own"
    TIMED_OUT = "timed out"
    SUFFICED = "sufficed"


def _attend(
    process: subprocess.Popen[bytes],
    tail: _Tail,
    deadline: float,
    stop: Callable[[], bool],
    suffices: Callable[[str], bool] | None,
) -> _End:
    """Read what a process prints until it ends, the time is up, or enough was seen."""
    try:
        while not _has_ended(process):
            if stop():
                raise Interrupted
            left = deadline - monotonic()
            if left <= 0:
                return _End.TIMED_OUT
            tail.wait(min(left, _LOOK_SECONDS))
            if suffices is not None and suffices(tail.text()):
                return _End.SUFFICED
        return _End.ITS_OWN
    finally:
        end(process)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether it has ended, without reaping it: until then its group's number cannot become another's."""
    if not hasattr(os, "waitid"):  # macOS before Python 3.13
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _ended(process: subprocess.Popen[bytes], tail: _Tail, reason: _End) -> Ended:
    tail.read(_DRAIN_BYTES)
    code, alone = process.returncode, reason is _End.ITS_OWN
    return Ended(
        status=code if code >= 0 and alone else None,
        signal=signal_name(-code) if code < 0 and alone else None,
        timed_out=reason is _End.TIMED_OUT,
        output=tail.text(),
        cut=tail.cut,
        sufficed=reason is _End.SUFFICED,
    )


class _Tail:
    """The end of what comes out of a pipe."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._kept = b""
        self._open = True
        self.cut = False

    def wait(self, seconds: float) -> None:
        """Wait for output; where no more can come, the process is as good as ended."""
        if not self._open:
            sleep(min(seconds, _AFTER_SECONDS))
            return
        # Not select, which cannot wait for descriptors from 1024 on.
        if readable([self._descriptor], seconds):
            self.read(_DRAIN_BYTES)

    def read(self, most: int) -> None:
        """Read what is there now, up to an amount, so that nobody who prints for ever keeps us."""
        while self._open and most > 0:
            try:
                piece = os.read(self._descriptor, 65_536)
            except BlockingIOError:
                return
            except OSError:
                piece = b""
            self._open = bool(piece)
            most -= len(piece)
            self._kept += piece
            if len(self._kept) > TAIL_BYTES:
                self._kept = self._kept[-TAIL_BYTES:]
                self.cut = True

    def text(self) -> str:
        """What was kept, from the beginning of a line where the rest was cut."""
        kept = self._kept
        if self.cut:
            _, newline, rest = kept.partition(b"\n")
            kept = rest if newline and rest else kept
        return kept.decode("utf-8", "backslashreplace")
