"""Carries what a script writes: its output into files, its own account of itself into the report.

A script is never made to wait for its caller. Output beyond the limit is left out, except for its end.
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
"""So much of the end of an output that is too long is kept."""
_HIGH = 190
"""Where programs that count their descriptors do not look."""
_MOST_WAKES = 64


class Pump:
    """Takes what a script writes into one pipe."""

    def __init__(self, reading: int, writing: int) -> None:
        self.reading = reading
        self.writing = writing
        self.taken: int = 0

    def begun(self) -> None:
        """The script has its end of the pipe; ours goes, or there would be no end."""
        os.close(self.writing)
        os.set_blocking(self.reading, False)

    def pump(self) -> bool:
        """Take in what is there; False when there will be no more."""
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
        """Let go."""
        os.close(self.reading)

    def _took(self, piece: bytes) -> None:
        """Deal with what was written; with nothing, where nothing was there."""
        raise NotImplementedError


class Output(Pump):
    """One of the script's outputs and its file in the run directory."""

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
        """What stood at the end and could not be written; whoever reads the file reads it behind that."""

    def begun(self) -> None:
        """The script has its end of the pipe, which gets as much room as there is."""
        super().begun()
        try:
            fcntl.fcntl(self.reading, fcntl.F_SETPIPE_SZ, _PIECE)
        except (OSError, AttributeError):
            pass

    def finish(self) -> None:
        """Write the end of an output that was too long, and let go."""
        left_out = self.taken - self._written - len(self._end)
        rest = b"\n[coldfork: %d bytes are left out here]\n" % left_out if left_out > 0 else b""
        rest += self._end
        self.kept = rest[self._write(rest) :]
        self._written += max(0, len(self._end) - len(self.kept))
        os.close(self._file)
        super().finish()

    def counted(self) -> dict[str, Any]:
        """How much there was, and how much of it the file does not hold."""
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
            # A caller that does not keep up hears of it later: the file knows all.
            self._untold = not self._caller.tell({"is": "output"}, wait=False)

    def _write(self, piece: bytes) -> int:
        """Write to the file; a full disk ends the writing and not the script."""
        view = memoryview(piece)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError as error:
            self._trouble = error.errno
        self._untold = True
        return len(piece) - len(view)


class ScriptChannel(Pump):
    """What the script's interpreter tells of itself: its states, what woke them, how it failed."""

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
                # The program may write to a descriptor that it did not open; that is no account of it.
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
    """The same descriptor under a high number, as high as this process may have one."""
    most = os.sysconf("SC_OPEN_MAX")
    try:
        high = lifted(descriptor, _HIGH if most < 0 else min(_HIGH, most - 1))
    except OSError:
        return descriptor
    os.close(descriptor)
    return high


def drain(pump: Pump, most: int) -> None:
    """Move what was written before the end. Somebody out of reach may still write for ever."""
    until = pump.taken + most
    while pump.taken < until:
        before = pump.taken
        if not pump.pump() or pump.taken == before:
            return
