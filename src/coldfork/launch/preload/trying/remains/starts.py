"""Notes the lines that start threads and processes, connect, and open files to write."""

from __future__ import annotations

import os
import sys
import threading

from coldfork.launch.preload.trying.remains.sites import site

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldfork.launch.preload.trying.remains.sites import Site

_PROCESSES = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn"})
_CONNECTIONS = frozenset({"socket.connect", "socket.bind"})
_WRITING = os.O_WRONLY | os.O_RDWR


class Starts:
    """The latest line that did each of these."""

    def __init__(self) -> None:
        self.process: Site = (None, None)
        self.threads: dict[int, Site] = {}
        """By the `Thread` that is started."""
        self.sockets: dict[int, Site] = {}
        """By descriptor."""
        self.files: dict[str, Site] = {}
        """By path."""
        self._home = os.getpid()

    def listen(self) -> None:
        """Hear of them from here on; an audit hook stays until the process ends."""
        sys.addaudithook(self._heard)
        kind: Any = threading.Thread
        start = kind.start

        def noted(thread: threading.Thread) -> None:
            self.threads[id(thread)] = site()
            start(thread)

        kind.start = noted

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITING and isinstance(path, (str, bytes)):
                self.files[os.path.realpath(os.fsdecode(path))] = site()
        elif event in _PROCESSES:
            self.process = site()
        elif event in _CONNECTIONS:
            try:
                self.sockets[arguments[0].fileno()] = site()
            except (AttributeError, OSError, ValueError):
                pass
