"""Pass on the output of workers, keep it in a file, and remember its last lines."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from functools import partial
from logging import getLogger
from pathlib import Path

from coldfork.launch.plumbing.loop import Bell, Loop, readable, writable
from coldfork.observe.recording.redaction import REDACTED
from coldfork.observe.secrets.texts import hidden, secret_spans

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_LOG = getLogger("coldfork")
_AT_ONCE = 65_536
_REMEMBERED = 4_096
_LAST_LINES = 20
_OLDER = ".older.log"
_PATIENCE = 1.0
"""How long a pool that ends waits for its workers' output to be read."""


class OutputStream:
    """The output of one worker: one thread reads it while the worker lives, another at its end."""

    def __init__(self, sink: Callable[[bytes], None]) -> None:
        """`sink` is called with the output, and may block."""
        pipe = os.pipe2(os.O_CLOEXEC)
        self.reading: int = pipe[0]
        self.writing: int = pipe[1]
        os.set_blocking(self.reading, False)
        self.sink = sink
        self._tail = b""
        self._rest: list[bytes] = []
        self._lock = threading.Lock()
        """Held while output is read, but not while the sink handles it."""
        self._open = True

    def read(self) -> bytes | None:
        """Read the output that is available now; return None if no more will come."""
        with self._lock:
            if not self._open:
                return None
            try:
                content = os.read(self.reading, _AT_ONCE)
            except BlockingIOError:
                return b""
            except OSError:
                return None
            self._tail = (self._tail + content)[-_REMEMBERED:]
            return content or None

    def drain(self) -> None:
        """Read all output that was written before the worker ended."""
        while readable([self.reading], 0) and (content := self.read()):
            self._rest.append(content)

    def rest(self) -> bytes:
        """Return the drained output; the next call returns nothing."""
        rest, self._rest = self._rest, []
        return b"".join(rest)

    def last_lines(self) -> str:
        """Return the output's last lines without secrets, because errors end up in logs and reports."""
        lines = self._tail.decode("utf-8", "backslashreplace").splitlines()
        said = "\n".join(lines[-_LAST_LINES:])
        return hidden(said, secret_spans(said), REDACTED)

    def close(self) -> None:
        """Stop reading and close the pipe."""
        with self._lock:
            if self._open:
                self._open = False
                os.close(self.reading)


class OutputPump:
    """A thread that passes on the output of a pool's workers.

    The reader at the other end may be slow, or absent: then only this thread waits.
    """

    def __init__(self) -> None:
        self._loop = Loop(shared=True)
        self._pumping: dict[OutputStream, Callable[[], object]] = {}
        self._left: deque[Callable[[], object]] = deque()
        """Other things to write, such as the last output of workers that have ended."""
        self._thread = threading.Thread(target=self._run, name="worker pool output", daemon=True)
        self._going_on = True
        # A message ends the thread; closing a pipe might not, because a forked child may hold its other end
        # open.
        self._bell = Bell(self._loop, self._pass_on)

    def open(self) -> None:
        """Start the thread, or do nothing if the interpreter is shutting down and can start none."""
        self._thread.start()

    def add(self, stream: OutputStream) -> None:
        """Pass on this stream's output from now on."""
        pump = self._pumping[stream] = partial(self._pump, stream)
        self._loop.watch(stream.reading, pump)

    def _run(self) -> None:
        while self._going_on:
            self._loop.turn()
        self._pass_on()
        self._close()

    def _pass_on(self) -> None:
        while self._left:
            self._left.popleft()()

    def _pump(self, stream: OutputStream) -> None:
        content = stream.read()
        if content is None:
            self._forget(stream)
        elif content:
            stream.sink(content)

    def remove(self, stream: OutputStream) -> None:
        """Stop reading this stream, so that it may be closed; pass on only what has already been read from
        it.
        """
        self._forget(stream)
        content = stream.rest()
        if content:
            self.write(partial(stream.sink, content))

    def write(self, action: Callable[[], object]) -> None:
        """Have the thread run an action that may block until output is read."""
        self._left.append(action)
        self._bell.ring()

    def log(self, action: Callable[[], object]) -> None:
        """Have the thread write a log message once there is room for it in the log's destination."""
        self.write(partial(_with_room, action))

    def _forget(self, stream: OutputStream) -> None:
        pump = self._pumping.get(stream)
        if pump is not None:
            # After this step the stream may be closed; a second caller finds it forgotten already.
            self._loop.forget(stream.reading, pump)
            self._pumping.pop(stream, None)

    def end(self) -> None:
        """End the thread; it may outlast this call if nobody reads the output that it passes on."""
        self._going_on = False
        if self._thread.ident is None:
            self._close()
        else:
            self._bell.ring()
            self._thread.join(_PATIENCE)

    def _close(self) -> None:
        self._loop.close()
        self._bell.close()


def to_standard_error(content: bytes) -> None:
    """Write bytes to the program's standard error, which in a notebook is the cell's output."""
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
        # Standard error has no reader.
        pass


def _with_room(log: Callable[[], object]) -> None:
    """Log a message once standard error has room, so that its lock is not held while nobody reads it.

    Another thread that flushes standard error, as multiprocessing does at each start, would wait for that
    lock. A program with log handlers of its own decides where its log goes.
    """
    try:
        if not _LOG.hasHandlers() and sys.stderr is not None:
            writable(sys.stderr.fileno(), None)
    except (OSError, ValueError, AttributeError):
        pass
    log()


def _private(path: str, flags: int) -> int:
    """Open a file that no other user may read, because a worker's output may be confidential."""
    return os.open(path, flags, 0o600)


class LogFile:
    """A file of limited size that keeps the output of workers."""

    def __init__(self, path: Path, most: int) -> None:
        self._path = path
        self._most = most
        self._failed = False

    def take(self, content: bytes) -> None:
        """Write output to the file; if the disk is full, drop the output and report that once."""
        try:
            # The size is read each time, because earlier workers and other pools write to the file as well.
            with open(self._path, "ab", buffering=0, opener=_private) as stream:
                if stream.tell() + len(content) <= self._most or stream.tell() == 0:
                    stream.write(content)
                    return
            older = self._path.with_suffix(_OLDER)
            os.replace(self._path, older)
            with open(self._path, "ab", buffering=0, opener=_private) as stream:
                stream.write(b"[coldfork: what came before is in %s]\n" % os.fsencode(older.name))
                stream.write(content)
        except OSError as error:
            if not self._failed:
                _LOG.warning("cannot write %s: %s", self._path, error.strerror)
            self._failed = True
