"""Run other programs for a limited time, and return their output or the end of it.

None of them is left running, whatever interrupts the work.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Event
from time import monotonic, sleep
from types import FrameType
from typing import Any, TypeVar

from coldfork.launch.plumbing.linux.kernel import signal_name
from coldfork.launch.plumbing.loop import readable
from coldfork.model.errors import UsageError
from coldfork.observe import bootstrap
from coldfork.observe.processes import asking
from coldfork.observe.processes.asking import LOOK_SECONDS

TAIL_BYTES = 16_384
"""The number of bytes kept from the end of a process's output, however much it prints."""
_AFTER_SECONDS = 0.005
_DRAIN_BYTES = 4 * 1024 * 1024
_AT_ONCE_SECONDS = 1.0
_Result = TypeVar("_Result")


def apart(work: Callable[[Callable[[], bool]], _Result]) -> _Result:
    """Run work that starts processes in a thread of its own, and wait for it; `work` can ask whether to stop.

    Ctrl-C interrupts only the main thread. If the work ran there, Ctrl-C could come between the start of a
    process and the moment at which it is registered.
    """
    stopped = Event()
    with ThreadPoolExecutor(max_workers=1) as pool:
        try:
            future = pool.submit(work, stopped.is_set)
            # A signal that arrives just before a wait does not interrupt it, so each wait is short.
            while not wait((future,), LOOK_SECONDS).done:
                pass
            return future.result()
        except BaseException:
            stopped.set()
            raise


def ask(
    command: Sequence[str], seconds: float, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command for at most this many seconds, and return its result with the output."""
    done = apart(lambda stop: asking.ask(command, "", seconds, variables, stop))
    if done is None:
        raise subprocess.TimeoutExpired(list(command), seconds)
    return done


@contextmanager
def command_signals() -> Iterator[None]:
    """Turn SIGTERM into KeyboardInterrupt too, and undo an inherited SIG_IGN for the ends of children.

    Two signals that arrive together count as one: `timeout` signals both its child and the child's group, and
    the second signal may come while the first is being handled.
    """
    first: list[float] = []

    def stop(_number: int, _frame: FrameType | None) -> None:
        first.append(monotonic())
        if len(first) == 1 or first[-1] - first[0] > _AT_ONCE_SECONDS:
            raise KeyboardInterrupt

    former: dict[signal.Signals, Any] = {}
    for number in (signal.SIGTERM, signal.SIGINT):
        # If this program ignores Ctrl-C or has its own handler for it, leave that alone.
        if number == signal.SIGINT and signal.getsignal(number) is not signal.default_int_handler:
            continue
        with suppress(ValueError):  # threads other than the main one raise this
            former[number] = signal.signal(number, stop)
    child = signal.SIGCHLD
    if signal.getsignal(child) is signal.SIG_IGN:
        # With SIG_IGN the system would reap our children before we wait for them, and they would inherit
        # SIG_IGN.
        with suppress(ValueError):
            former[child] = signal.signal(child, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended, and the last part of its output."""

    status: int | None
    """The exit status; None if a signal or the time limit ended the process."""
    signal: str | None
    """The name of the signal that ended the process, unless coldfork sent it."""
    timed_out: bool
    output: str
    cut: bool
    """True if `output` is only the end of the output."""
    sufficed: bool = False
    """Whether the process was ended early because the wanted output had been seen."""


class Interrupted(Exception):
    """The process was ended because the caller asked to stop."""


def require_watching(command: str, platform: str = sys.platform) -> None:
    """Raise an error on systems where processes cannot be watched."""
    if platform != "darwin" and not platform.startswith("linux"):
        raise UsageError(
            f"coldfork {command} needs Linux or macOS, because it starts and ends process groups; "
            f"this is {platform}"
        )


def environment(
    settings: Mapping[str, Any], base: Mapping[str, str] = os.environ, virtual: str | None = None
) -> dict[str, str]:
    """Return the environment for a Python process that is to be watched.

    `settings` are those of `observe.bootstrap`. `virtual` is a virtual device, NAME or NAME:N.
    """
    plain = {key: value for key, value in base.items() if key != bootstrap.VIRTUAL}
    if virtual:
        plain[bootstrap.VIRTUAL] = virtual
    device = f"virtual:{virtual}" if virtual else "real"
    return bootstrap.environment({"device": device, **settings}, plain)


def until_its_end(
    command: Sequence[str],
    variables: Mapping[str, str],
    *,
    timeout: float,
    stop: Callable[[], bool] = bool,
    suffices: Callable[[str], bool] | None = None,
    folder: str | None = None,
) -> Ended:
    """Run a command in its own session until it ends, and then end all processes that it started.

    Raises `Interrupted` once `stop` returns True. Only the end of the output is kept. `suffices` is called
    with that end from time to time; once it returns True, the command is ended early.
    """
    reading, writing = os.pipe()
    try:
        try:
            process = subprocess.Popen(
                list(command),
                cwd=folder,
                env=dict(variables),
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                # In its own session the program gets no Ctrl-C; coldfork gets it, and ends everything that it
                # started.
                start_new_session=True,
            )
        finally:
            os.close(writing)
        os.set_blocking(reading, False)
        return _attended(process, _Tail(reading), monotonic() + timeout, stop, suffices)
    finally:
        os.close(reading)


def _attended(
    process: subprocess.Popen[bytes],
    tail: _Tail,
    deadline: float,
    stop: Callable[[], bool],
    suffices: Callable[[str], bool] | None,
) -> Ended:
    """Read a process's output until the process ends, the time is up, or `suffices` returns True."""
    timed_out = sufficed = False
    try:
        while not (timed_out or sufficed or _has_ended(process)):
            if stop():
                raise Interrupted
            left = deadline - monotonic()
            timed_out = left <= 0
            if not timed_out:
                tail.wait(min(left, LOOK_SECONDS))
                sufficed = suffices is not None and suffices(tail.text())
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            process.kill()
        process.wait()
    tail.read(_DRAIN_BYTES)
    code, alone = process.returncode, not (timed_out or sufficed)
    return Ended(
        status=code if code >= 0 and alone else None,
        signal=signal_name(-code) if code < 0 and alone else None,
        timed_out=timed_out,
        output=tail.text(),
        cut=tail.cut,
        sufficed=sufficed,
    )


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return whether the process has ended. It is not reaped, so that its number is not reused yet."""
    if not hasattr(os, "waitid"):  # macOS has no `waitid` before Python 3.13.
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


class _Tail:
    """The last part of the output that a pipe delivers."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._kept = b""
        self._open = True
        self.cut = False

    def wait(self, seconds: float) -> None:
        """Wait for output, or for the end of the pipe, at most this many seconds."""
        if not self._open:
            sleep(min(seconds, _AFTER_SECONDS))
            return
        # Not `select.select`, which cannot handle descriptors above 1023.
        if readable([self._descriptor], seconds):
            self.read(_DRAIN_BYTES)

    def read(self, most: int) -> None:
        """Read the available output, but no more than `most` bytes, so that endless output cannot keep us
        here.
        """
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
        """Return the kept output as text; if its beginning was cut, start with the first whole line."""
        kept = self._kept
        if self.cut:
            _, newline, rest = kept.partition(b"\n")
            kept = rest if newline and rest else kept
        return kept.decode("utf-8", "backslashreplace")
