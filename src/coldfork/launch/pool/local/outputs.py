"""What workers write to their standard streams: passed on, kept in a file, and its last lines remembered."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from logging import getLogger
from pathlib import Path

from coldfork.launch.plumbing.loop import Loop, readable

_LOG = getLogger("coldfork")
_AT_ONCE = 65_536
_REMEMBERED = 4_096
_LAST_LINES = 20
_OLDER = ".older.log"


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
        self._loop = Loop(shared=True)
        self._pumping: dict[OutputStream, Callable[[], object]] = {}
        self._thread = threading.Thread(target=self._run, name="worker pool output", daemon=True)
        self._going_on = True
        self._ending, self._end = os.pipe2(os.O_CLOEXEC)
        self._loop.watch(self._ending, self._stop)

    def open(self) -> None:
        """Begin while there can be new threads: a program that ends has none, and its pool goes on."""
        self._thread.start()

    def add(self, stream: OutputStream) -> None:
        """Pass on what comes from there."""
        pump = self._pumping[stream] = partial(self._pump, stream)
        self._loop.watch(stream.reading, pump)

    def _run(self) -> None:
        while self._going_on:
            self._loop.turn()

    def _stop(self) -> None:
        self._going_on = False

    def _pump(self, stream: OutputStream) -> None:
        if not stream.pump():
            self.remove(stream)

    def remove(self, stream: OutputStream) -> None:
        """It has nothing more to say."""
        pump = self._pumping.get(stream)
        if pump is not None:
            # Whoever comes second finds it forgotten, too: only then may it be closed.
            self._loop.forget(stream.reading, pump)
            self._pumping.pop(stream, None)

    def end(self) -> None:
        """End the thread; the streams are closed by who has opened them."""
        os.close(self._end)
        if self._thread.ident is not None:
            self._thread.join()
        self._loop.close()
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

    def __init__(self, path: Path, most: int) -> None:
        self._path = path
        self._most = most
        self._failed = False

    def take(self, content: bytes) -> None:
        """Write this; where the disk is full, it is lost and said so once, and no task fails of it."""
        try:
            # Its size is asked each time: the worker before this one has written to it, and another pool.
            with open(self._path, "ab", buffering=0) as stream:
                if stream.tell() + len(content) <= self._most or stream.tell() == 0:
                    stream.write(content)
                    return
            older = self._path.with_suffix(_OLDER)
            os.replace(self._path, older)
            with open(self._path, "ab", buffering=0) as stream:
                stream.write(b"[coldfork: what came before is in %s]\n" % os.fsencode(older.name))
                stream.write(content)
        except OSError as error:
            if not self._failed:
                _LOG.warning("%s cannot be written: %s", self._path, error.strerror)
            self._failed = True
