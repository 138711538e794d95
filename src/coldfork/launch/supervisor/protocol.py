"""The messages between a caller and the supervisor of its script.

The plan comes in a memory file, because an environment may be larger than any message; the rest are short
messages on a socket that preserves their boundaries. None of it ever appears on a command line.
"""

from __future__ import annotations

import os
from time import gmtime, strftime

from coldfork.launch.plumbing.linux.kernel import signal_name
from coldfork.launch.supervisor import report_file
from coldfork.launch.supervisor.report_file import Report, Veil
from coldfork.observe.recording.events import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MARK = "COLDFORK_RUN"
"""An environment variable by which the script's processes are found if their supervisor is killed."""
CONTROL = 3
PLAN = 4
LOCK = 5
LONGEST = 65_536
"""The largest size of a message, in bytes."""
_PIECE = 8192
"""This many characters of any kind fit into a message."""


class Caller:
    """The caller as the supervisor sees it: the other end of the socket."""

    def __init__(self, waker: Callable[[], object] | None = None) -> None:
        self._there = True
        self._wake = waker

    @property
    def there(self) -> bool:
        """Return whether the caller is still there, as far as the socket shows."""
        return self._there

    def tell(self, message: dict[str, Any], *, wait: bool = True) -> bool:
        """Send a message; return whether it was sent. Do nothing if the caller is gone."""
        if not self._there:
            return False
        os.set_blocking(CONTROL, wait)
        try:
            os.write(CONTROL, encode(message))
        except BlockingIOError:
            return False
        except OSError:
            self._there = False
            return False
        if self._wake is not None:
            self._wake()
        return True

    def hand_over(self, what: str, content: bytes) -> None:
        """Send content of any length, in pieces."""
        for start in range(0, len(content), _PIECE):
            piece = content[start : start + _PIECE].decode("latin-1")
            if not self.tell({"is": "kept", "what": what, "piece": piece}):
                return

    def heard(self) -> list[str] | None:
        """Return the words of the next message; None if the caller is gone."""
        os.set_blocking(CONTROL, False)
        try:
            message = os.read(CONTROL, LONGEST)
        except BlockingIOError:
            return [""]
        except OSError:
            message = b""
        if not message:
            self._there = False
            return None
        return message.decode("ascii", "replace").split() or [""]


class SupervisedRun:
    """The supervisor's job, and the report that it completes."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._report = Report(job["report"])
        self._veil = Veil(job["secrets"])
        self.folder: str = outside(job["folder"])
        self._kept: bool = job["kept"]
        self.program: str = outside(job["program"])
        self.words: list[str] = [outside(word) for word in job["words"]]
        self.environment: dict[str, str] = {
            outside(name): outside(value) for name, value in job["environment"].items()
        }
        self.cwd: str | None = job["cwd"] and outside(job["cwd"])
        self.captured: bool = job["captured"]
        self.streamed: bool = job["streamed"]
        self.mask: list[int] = job["mask"]
        self.timeout: float | None = job["timeout"]
        self.grace: float = job["grace"]
        self.most_output: int = job["most_output"]
        self.mark: str = self._report.id
        self.caps: dict[str, Any] | None = job["caps"]
        self.entrance: str | None = None
        """The control group that the script's process has to enter before it begins."""
        self.caller: int = job["caller"]
        self.at_terminal: bool = not self.captured
        """Whether the caller waits for signals, and reads messages only when it gets a signal."""

    def conclude(
        self,
        caller: Caller,
        *,
        ended: float,
        seconds: float,
        pid: int,
        status: int | None,
        why: str | None,
        caps: dict[str, Any] | None,
        peak: int,
        left: list[str],
        unreachable: list[int],
        heard: dict[str, Any],
        output: dict[str, Any],
    ) -> None:
        """Complete the report, write it to its file, and send it to the caller."""
        report, veil = self._report, self._veil
        report.status, number = apart(status)
        report.signal = None if number is None else signal_name(number)
        report.ended, report.seconds = stamp(ended), round(seconds, 6)
        report.peak_memory_bytes = peak
        report.caps = report.caps and {**report.caps, **(caps or {})}
        report.exception = veil.over(heard.pop("exception", None))
        report.child = {"pid": pid, **veil.over(heard)}
        report.output = output or "inherited"
        report.left_behind, report.unreachable = veil.over(left), unreachable
        report.end(_outcome(why, report.status, number))
        try:
            report_file.write_last(self.folder, report)
        except OSError as error:
            # The disk is full, or the folder deleted: tell the caller, because the file cannot.
            caller.tell({"is": "unwritten", "errno": error.errno})
        # Sent even if the file was written: the caller may have no descriptor left to open it.
        caller.hand_over("report", encode(report.told()))

    def left_alone(self) -> None:
        """Delete the run directory unless it is kept; the caller, who would do this, is gone."""
        if not self._kept:
            report_file.delete(self.folder)


def apart(status: int | None) -> tuple[int | None, int | None]:
    """Split a wait status into an exit status and a signal, of which one is None."""
    if status is None:
        return None, None
    return (None, os.WTERMSIG(status)) if os.WIFSIGNALED(status) else (os.WEXITSTATUS(status), None)


def read_plan() -> SupervisedRun:
    """Read the plan from the memory file that the caller has passed."""
    for descriptor in (CONTROL, LOCK):
        os.set_inheritable(descriptor, False)
    with os.fdopen(PLAN, "rb") as stream:
        return SupervisedRun(decode(stream.read().decode("ascii")))


def inside(text: str | bytes) -> str:
    """Encode a file name for JSON, whatever the file system encodings of the two processes."""
    return os.fsencode(text).decode("utf-8", "surrogateescape")


def outside(text: str) -> str:
    """Decode a file name from JSON into this process's encoding."""
    return os.fsdecode(text.encode("utf-8", "surrogateescape"))


def stamp(moment: float) -> str:
    """Format a moment as in reports: in UTC, with milliseconds."""
    return f"{strftime('%Y-%m-%dT%H:%M:%S', gmtime(moment))}.{int(moment % 1 * 1000):03d}Z"


def _outcome(why: str | None, status: int | None, number: int | None) -> str:
    if why is not None:
        return why
    if number is not None:
        return "killed"
    return "failed" if status else "succeeded"
