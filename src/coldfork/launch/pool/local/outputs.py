"""What workers write to their standard streams: passed on, kept in a file, and its last lines remembered."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from logging import getLogger
from pathlib import Path

from coldfork.launch.readiness import readable

_LOG = getLogger("coldfork")
_AT_ONCE = 65_536
_REMEMBERED = 4_096
_LAST_LINES = 20
MOST_LOGGED = 16 << 20
"""A log file that has grown so large is set aside, in place of the one that was set aside before it."""


class OutputStream:
    """What one worker writes."""

    def __init__(self, sink: Callable[[bytes], None]) -> None:
        """`sink` takes what is read; it is called by one thread at a time."""
        self.reading, self.writing = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.reading, False)
        self._sink = sink
        self._tail = b""
        self._lock = threading.Lock()
        self._open = True

    def hand_over(self) -> None:
        """Close the worker's end, which it has by now, or never will."""
        os.close(self.writing)

    def pump(self) -> bool:
        """Take what there is; False when nothing more will come."""
        with self._lock:
            if not self._open:
                return False
            try:
                content = os.read(self.reading, _AT_ONCE)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if content:
                self._tail = (self._tail + content)[-_REMEMBERED:]
                self._sink(content)
            return bool(content)

    def drain(self) -> None:
        """Take all that a worker that has ended had written."""
        while readable([self.reading], 0) and self.pump():
            pass

    def last_lines(self) -> str:
        """The last lines of what it wrote."""
        lines = self._tail.decode("utf-8", "backslashreplace").splitlines()
        return "\n".join(lines[-_LAST_LINES:])

    def close(self) -> None:
        """Read no more of it."""
        with self._lock:
            if self._open:
                self._open = False
                os.close(self.reading)


class OutputPump:
    """A thread that passes on what the workers of a pool write, so that a slow reader holds up no task."""

    def __init__(self) -> None:
        self._poll = select.epoll()
        self._streams: dict[int, OutputStream] = {}
        self._thread: threading.Thread | None = None
        self._ending, self._end = os.pipe2(os.O_CLOEXEC)
        self._poll.register(self._ending, select.EPOLLIN)

    def add(self, stream: OutputStream) -> None:
        """Pass on what comes from there."""
        self._streams[stream.reading] = stream
        self._poll.register(stream.reading, select.EPOLLIN)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="worker pool output", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor == self._ending:
                    return
                stream = self._streams.get(descriptor)
                if stream is not None and not stream.pump():
                    self.remove(stream)

    def remove(self, stream: OutputStream) -> None:
        """It has nothing more to say."""
        if self._streams.pop(stream.reading, None) is not None:
            with suppress(OSError):
                self._poll.unregister(stream.reading)

    def end(self) -> None:
        """End the thread; the streams are closed by who has opened them."""
        os.close(self._end)
        if self._thread is not None:
            self._thread.join()
        self._poll.close()
        os.close(self._ending)


def to_standard_error(content: bytes) -> None:
    """Pass it on to where this program's errors go, which is a cell in a notebook."""
    stream = sys.stderr
    try:
        is_own = stream is not None and stream.fileno() == 2
    except (OSError, ValueError, AttributeError):
        is_own = False
    try:
        if is_own or stream is None:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(2, rest) :]
        else:
            stream.write(content.decode("utf-8", "backslashreplace"))
    except (OSError, ValueError):
        # Nobody reads it.
        pass


class LogFile:
    """A file that keeps what a worker writes, and no more than so much of it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = 0
        self._failed = False

    def take(self, content: bytes) -> None:
        """Write this; where the disk is full, it is lost and said so once, and no task fails of it."""
        try:
            if self._size + len(content) > MOST_LOGGED:
                os.replace(self._path, self._path.with_suffix(".log.1"))
                self._size = 0
            with open(self._path, "ab", buffering=0) as stream:
                stream.write(content)
            self._size += len(content)
        except OSError as error:
            if not self._failed:
                _LOG.warning("%s cannot be written: %s", self._path, error.strerror)
            self._failed = True
