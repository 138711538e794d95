"""Helper processes, which parse files in parallel with this process."""

from __future__ import annotations

import gc
import marshal
import os
import signal
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

Work = Callable[[Any], Iterable[Any]]
_LENGTH = struct.Struct("<Q")
_END = _LENGTH.pack(0)
#: Platforms on which `os.fork` exists but always fails.
_WITHOUT_PROCESSES = ("emscripten", "wasi")


class Worker:
    """A forked process that works on one request at a time."""

    def __init__(self, work: Work) -> None:
        down_read, down_write = os.pipe()
        up_read, up_write = os.pipe()
        self.pid: int = os.fork()
        if self.pid == 0:
            status = 1
            try:
                os.close(down_write)
                os.close(up_read)
                _serve(work, down_read, up_write)
                status = 0
            finally:
                os._exit(status)
        os.close(down_read)
        os.close(up_write)
        self._requests = os.fdopen(down_write, "wb")
        self._answers = os.fdopen(up_read, "rb")

    def ask(self, request: Any) -> None:
        """Send a request; `answer` collects the result later."""
        body = marshal.dumps(request)
        try:
            self._requests.write(_LENGTH.pack(len(body)) + body)
            self._requests.flush()
        except OSError:
            pass  # if no answer comes, the caller does the work itself

    def answer(self) -> Iterator[Any]:
        """Yield the results of the last request, one by one; they end early if the worker dies."""
        while True:
            try:
                head = self._answers.read(_LENGTH.size)
                if len(head) < _LENGTH.size or head == _END:
                    return
                item = marshal.loads(self._answers.read(_LENGTH.unpack(head)[0]))
            except (OSError, ValueError, EOFError, TypeError):
                return
            yield item

    def close(self) -> None:
        """Close the pipes, so that the worker ends after its current request; wait until it has ended."""
        for pipe in (self._requests, self._answers):
            try:
                pipe.close()
            except OSError:
                pass
        try:
            os.waitpid(self.pid, 0)
        except ChildProcessError:
            pass

    def end(self) -> None:
        """End the worker at once, in the middle of its work."""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.close()


def _serve(work: Work, requests: int, answers: int) -> None:
    gc.disable()
    with os.fdopen(requests, "rb") as incoming, os.fdopen(answers, "wb") as outgoing:
        while head := incoming.read(_LENGTH.size):
            # The parent reads only after it has done its own share, so compute all items before sending any.
            for item in list(work(marshal.loads(incoming.read(_LENGTH.unpack(head)[0])))):
                body = marshal.dumps(item)
                outgoing.write(_LENGTH.pack(len(body)) + body)
            outgoing.write(_END)
            outgoing.flush()


def can_fork() -> bool:
    """Return True if this process may fork helpers: the platform allows it, and no other thread is
    running.
    """
    import threading

    return hasattr(os, "fork") and sys.platform not in _WITHOUT_PROCESSES and threading.active_count() == 1
