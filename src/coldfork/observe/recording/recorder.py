"""Write a recording: each line is appended by a single write, so that processes and threads can share a file.

The recorder never makes the watched program fail: lines that cannot be written are dropped and counted. The
file descriptor is checked before each write, because a program may close all descriptors that it finds, and
open its own file under the same number.
"""

from __future__ import annotations

import os
import sys
from time import gmtime, monotonic, strftime, time

from coldfork.observe.recording import redaction
from coldfork.observe.recording.events import as_events, encode, encoder, import_encoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from coldfork.observe.recording.events import Ended, Event

SCHEMA_VERSION = 1
LIMIT = 64 * 1024 * 1024
"""The most bytes of a recording, unless another limit is given."""
HIGH_DESCRIPTOR = 200
"""Higher than the descriptors that programs usually expect, or close in a loop."""
_BULKY = frozenset({"import", "effect"})
_FLAGS = os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


class Recorder:
    """A sink that appends events to a file, up to a limit.

    Imports, which are frequent, stop being written a little earlier, so that there is room for wakes and
    forks, which matter more.
    """

    __slots__ = (
        "_descriptor", "_dropped", "_encode", "_encode_imports", "_identity", "_limit", "_obstacle", "_open",
        "_path", "_reserve", "_said_so", "_torn", "_untold", "lost",
    )  # fmt: skip

    def __init__(self, path: str, limit: int = LIMIT, identity: Iterable[int] | None = None) -> None:
        """Open the file; `identity` is the device and inode that an existing file must have."""
        self.lost: int = 0
        """The number of lines that could not be written at all."""
        self._untold = 0
        """The number of these that the recording does not mention yet."""
        self._obstacle = ""
        self._torn = False
        """Whether the last line lacks its end."""
        self._path = os.path.abspath(path)
        self._limit = limit
        self._reserve = min(limit // 8, 1024 * 1024)
        self._dropped = 0
        self._said_so = False
        self._identity = None if identity is None else tuple(identity)
        self._descriptor = -1
        self._open = os.open
        self._encode = encoder()
        self._encode_imports = import_encoder()
        self._reopen(create=identity is None)

    def __call__(self, event: Event) -> None:
        """Write one event; never raise an error."""
        self.several((event,))

    def several(self, events: Collection[Event]) -> None:
        """Write events together; never raise an error."""
        try:
            self._write(events)
        except Exception as error:
            self._lose(len(events), error)

    def imports(self, ended: Collection[Ended]) -> None:
        """Write imports that have ended, together; never raises."""
        try:
            size = self._size()
            lines = b"" if size is None else self._encode_imports(ended)
            if size is not None and size + len(lines) <= self._limit - self._reserve:
                self._append(lines, size)
                return
        except Exception as error:
            self._lose(len(ended), error)
            return
        # The descriptor belongs to another file, or the file is full: write the events that still fit.
        self.several(as_events(ended))

    def header(
        self,
        *,
        command: Iterable[object],
        device: str,
        tool: str,
        environment: Mapping[str, str],
        follow: bool = False,
    ) -> None:
        """Write the line that begins a recording."""
        self(
            {
                "event": "header",
                "schema_version": SCHEMA_VERSION,
                "tool": {"name": "coldfork", "version": tool},
                "started": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(time())),
                "monotonic": monotonic(),
                "python": sys.version.split()[0],
                "platform": sys.platform,
                "command": redaction.command(command),
                "cwd": _folder(),
                "limit": self._limit,
                "device": device,
                "follow": follow,
                "environment": redaction.environment(environment),
            }
        )

    def close(self) -> None:
        """Write how many lines were dropped, and close the file."""
        try:
            if self._dropped:
                self._append(_cut_line("limit", self._dropped), self._size())
                self._dropped = 0
            if self._untold:
                self._append(_cut_line(self._obstacle, self._untold), self._size())
            if self._size() is not None:
                os.close(self._descriptor)
        except Exception:
            self.lost += 1
        self._descriptor = -1
        self._identity = None

    def _write(self, events: Collection[Event]) -> None:
        size = self._size()
        if size is None:
            self._reopen(create=False)
            size = self._size()
            if size is None:
                self.lost += len(events)
                return
        lines = [_cut_line(self._obstacle, self._untold)] if self._untold else []
        length = size + sum(map(len, lines))
        for event in events:
            line = self._encode(event)
            limit = self._limit - self._reserve if event.get("event") in _BULKY else self._limit - 200
            if length + len(line) <= limit:
                length += len(line)
                lines.append(line)
            else:
                self._dropped += 1
        if lines:
            untold, self._untold = self._untold, 0
            try:
                self._append(b"".join(lines), size)
            except Exception:
                self._untold = untold
                raise
        if self._dropped and not self._said_so:
            self._said_so = True
            self._append(_cut_line("limit", self._dropped), length)

    def _lose(self, count: int, error: Exception) -> None:
        """Record how many lines were lost, to write that as soon as there is room."""
        self.lost += count
        self._untold += count
        self._obstacle = getattr(error, "strerror", None) or type(error).__name__

    def _append(self, line: bytes, size: int | None) -> None:
        if size is None or size + len(line) > self._limit:
            return
        line = b"\n" + line if self._torn else line
        self._torn = os.write(self._descriptor, line) != len(line)
        if self._torn:
            # The disk is full. End this line, so that the next one is readable.
            self._lose(1, OSError(0, "there was no room for a whole line"))
            os.write(self._descriptor, b"\n")
            self._torn = False

    def _size(self) -> int | None:
        """Return the file's present size; None if the descriptor now belongs to another file."""
        if self._descriptor < 0:
            return None
        try:
            status = os.fstat(self._descriptor)
        except OSError:
            return None
        return status.st_size if (status.st_dev, status.st_ino) == self._identity else None

    def _reopen(self, *, create: bool) -> None:
        flags = _FLAGS | os.O_CREAT if create else _FLAGS
        low = self._open(self._path, flags, 0o600)
        self._descriptor = _moved_up(low)
        status = os.fstat(self._descriptor)
        identity = (status.st_dev, status.st_ino)
        if self._identity is not None and identity != self._identity:
            os.close(self._descriptor)
            self._descriptor = -1
            return
        self._identity = identity


def _moved_up(low: int) -> int:
    try:
        import fcntl

        high = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR)
    except (ImportError, OSError):
        return low
    os.close(low)
    return high


def _cut_line(reason: str, dropped: int) -> bytes:
    return encode({"event": "cut", "pid": os.getpid(), "reason": reason, "dropped": dropped})


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None
