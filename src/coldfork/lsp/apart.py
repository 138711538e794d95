"""First checks, made in a process without threads, which may fork; the server uses the cache that
they fill.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from coldfork.checking.inspection import inspect
from coldfork.checking.request import configured
from coldfork.model.errors import Cancellation
from coldfork.model.observations import Progress
from coldfork.source.files.workers import can_fork


class Apart:
    """A process that checks folders on disk, one at a time, to fill the cache.

    Create it before any thread and before any output, because standard output belongs to the editor. The
    process itself has neither standard input nor standard output.
    """

    def __init__(self) -> None:
        self._pid = 0
        if not can_fork():
            return
        self._ours, theirs = socket.socketpair()
        self._pid = os.fork()
        if self._pid == 0:
            status = 1
            try:
                self._ours.close()
                nothing = os.open(os.devnull, os.O_RDWR)
                os.dup2(nothing, 0)
                os.dup2(nothing, 1)
                _serve(theirs)
                status = 0
            finally:
                os._exit(status)
        theirs.close()
        self._lines = self._ours.makefile("r", encoding="utf-8")

    def check(self, paths: tuple[Path, ...], settings: Mapping[str, Any], progress: Progress) -> None:
        """Wait until some paths have been checked; do nothing if processes cannot be forked here."""
        if not self._pid:
            return
        try:
            self._ours.sendall(_line([[str(path) for path in paths], dict(settings)]))
            while (line := self._lines.readline()) and (said := json.loads(line)):
                progress(*said)
        except OSError:
            return

    def give_up(self) -> None:
        """Tell the process to end, without waiting, because another thread may be waiting for its answer."""
        if self._pid:
            try:
                self._ours.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the process has already ended

    def end(self) -> None:
        """Tell the process to end, and wait for that."""
        self.give_up()
        pid, self._pid = self._pid, 0
        if pid:
            self._lines.close()
            self._ours.close()
            os.waitpid(pid, 0)


def _serve(ours: socket.socket) -> None:
    # What only following code needs, while the editor and the server are still introducing themselves.
    import coldfork.source.answering  # noqa: F401

    def progress(*said: object) -> None:
        try:
            ours.sendall(_line(said))
        except OSError:
            raise Cancellation from None  # the server has ended, or cancelled the check

    for line in ours.makefile("r", encoding="utf-8"):
        paths, settings = json.loads(line)
        try:
            inspect(configured(tuple(map(Path, paths)), {}, {}, settings), progress)
        except Exception:
            pass  # the server's own check will fail in the same way, and report the error
        progress()


def _line(said: object) -> bytes:
    return json.dumps(said).encode() + b"\n"
