"""Copy a script's output into files, and collect its interpreter's messages for the report.

A script never has to wait for its caller. Output beyond the limit is omitted, except for its end.
"""

from __future__ import annotations

import fcntl
import os

from coldfork.launch.plumbing.streams import lifted
from coldfork.observe.recording.events import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldfork.launch.supervisor.protocol import Caller

_PIECE = 1 << 20
KEPT_END = 64 * 1024
"""How many bytes are kept from the end of an output that is too long."""
_HIGH = 190
"""A descriptor number above those that programs usually assume."""
_MOST_WAKES = 64


class Pump:
    """A reader of one pipe that the script writes to."""

    def __init__(self, reading: int, writing: int) -> None:
        self.reading = reading
        self.writing = writing
        self.taken: int = 0

    def begun(self) -> None:
        """Close our copy of the writing end: while it is open, the pipe does not end when the script does."""
        os.close(self.writing)
        os.set_blocking(self.reading, False)

    def pump(self) -> bool:
        """Read the bytes that are available; return False at the end of the pipe."""
        try:
            piece = os.read(self.reading, _PIECE)
        except BlockingIOError:
            self._took(b"")
            return True
        self.taken += len(piece)
        if piece:
            self._took(piece)
        return bool(piece)

    def finish(self) -> None:
        """Close the pipe."""
        os.close(self.reading)

    def _took(self, piece: bytes) -> None:
        """Handle the bytes that were read; `piece` is empty if none were available."""
        raise NotImplementedError


class Output(Pump):
    """One of the script's outputs, and its file in the run directory."""

    def __init__(self, folder: str, name: str, most: int, streaming_to: Caller | None) -> None:
        self.name = name
        self._most = most
        self._caller = streaming_to
        self._file = os.open(
            os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600
        )
        super().__init__(*os.pipe2(os.O_CLOEXEC))
        self._written = 0
        self._untold = False
        self._trouble: int | None = None
        self._end = b""
        self.kept: bytes = b""
        """The end of the output, if it could not be written; the file's reader appends it."""

    def begun(self) -> None:
        """Close our copy of the writing end, and enlarge the pipe as far as permitted."""
        super().begun()
        try:
            fcntl.fcntl(self.reading, fcntl.F_SETPIPE_SZ, _PIECE)
        except (OSError, AttributeError):
            pass

    def finish(self) -> None:
        """Write the end of an output that was cut in the middle, and close the file."""
        left_out = self.taken - self._written - len(self._end)
        rest = b"\n[coldfork: %d bytes are left out here]\n" % left_out if left_out > 0 else b""
        rest += self._end
        self.kept = rest[self._write(rest) :]
        self._written += max(0, len(self._end) - len(self.kept))
        os.close(self._file)
        super().finish()

    def counted(self) -> dict[str, Any]:
        """Return the number of bytes in all, how many of them the file lacks, and why."""
        return {
            "bytes": self.taken,
            "left_out": self.taken - self._written,
            "trouble": None if self._trouble is None else os.strerror(self._trouble),
        }

    def _took(self, piece: bytes) -> None:
        room = self._most - self._written
        if piece and room > 0 and self._trouble is None:
            written = self._write(piece[:room])
            self._written += written
            piece = piece[written:]
        self._end = (self._end + piece)[-KEPT_END:]
        if self._caller is not None and self._untold:
            # A caller that cannot keep up is told later; meanwhile the file has all the output.
            self._untold = not self._caller.tell({"is": "output"}, wait=False)

    def _write(self, piece: bytes) -> int:
        """Write to the file; if the disk is full, stop writing but let the script run on."""
        view = memoryview(piece)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            self._trouble = error.errno
        self._untold = True
        return len(piece) - len(view)


class ScriptChannel(Pump):
    """A reader of messages from the script's interpreter: device states, wakers, the final exception."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        reading, low = os.pipe2(os.O_CLOEXEC)
        super().__init__(reading, _moved_up(low))
        self._rest = b""
        self.heard: dict[str, Any] = {"enforced": None, "states": None, "wakes": []}

    def _took(self, piece: bytes) -> None:
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if len(self._rest) > _PIECE:
            self._rest = b""
        for line in lines:
            try:
                self._take(decode(line.decode("ascii")))
            except (ValueError, KeyError, TypeError, AttributeError):
                # A program may write to this descriptor by mistake; ignore everything that is not a message.
                continue

    def _take(self, event: dict[str, Any]) -> None:
        kind = event["event"]
        if kind == "progress":
            self._caller.tell({"is": "progress", "done": event["done"], "total": event["total"]}, wait=False)
        elif kind == "wake":
            if len(self.heard["wakes"]) < _MOST_WAKES:
                self.heard["wakes"].append(
                    {name: event.get(name) for name in ("accelerator", "level", "waker", "t")}
                )
        elif kind == "enforced":
            self.heard["enforced"] = event["method"]
        elif kind == "up":
            self._caller.tell({"is": "up"}, wait=False)
        elif kind in ("states", "exception"):
            self.heard[kind] = event[kind]


def _moved_up(descriptor: int) -> int:
    """Move a descriptor to a high number, as high as this process may use."""
    most = os.sysconf("SC_OPEN_MAX")
    try:
        high = lifted(descriptor, _HIGH if most < 0 else min(_HIGH, most - 1))
    except OSError:
        return descriptor
    os.close(descriptor)
    return high


def drain(pump: Pump, most: int) -> None:
    """Read output left in the pipe, up to a limit: a process that cannot be killed may write for ever."""
    until = pump.taken + most
    while pump.taken < until:
        before = pump.taken
        if not pump.pump() or pump.taken == before:
            return
