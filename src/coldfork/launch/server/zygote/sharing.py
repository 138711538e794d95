"""The servers of this process; pools and contexts with equal terms share one.

Later users get the modules that were imported for the first. Terms are equal only if a server started now
would have the same imports, interpreter, environment, import path and program folder. The server itself says
whether the files of its modules are unchanged.

When its last user has released it, a server is kept for a moment, for programs that open one pool after
another. Then it ends, so that a second after a pool's end nothing of it is left.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from functools import cache
from multiprocessing import spawn as interpreter
from multiprocessing import util
from weakref import WeakValueDictionary

from coldfork.launch.server import variables
from coldfork.launch.server.circumstances import working_directory
from coldfork.launch.server.zygote.running_server import RunningServer
from coldfork.observe.recording.events import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

KEPT_SECONDS = 0.5
"""How long an unused server is kept."""


class SharedServers:
    """The servers of one process; each ends when it has no more users."""

    def __init__(self) -> None:
        self._home = os.getpid()
        # Reentrant: a signal handler may call these methods in the middle of one of them.
        self._lock = threading.RLock()
        self._known: WeakValueDictionary[bytes, RunningServer] = WeakValueDictionary()
        self._kept: dict[RunningServer, _Keeping] = {}
        """The servers that have no user."""
        self._is_over = False
        # At a fork no timer thread must exist, and no child must inherit servers that are about to end.
        os.register_at_fork(before=self.end_kept)
        with suppress(RuntimeError):
            # This runs before threads are joined, but after the pools have ended, because pools register
            # later.
            threading._register_atexit(self._end)  # type: ignore[attr-defined]

    def take(self, user: object, terms: dict[str, Any], modules: Sequence[str]) -> tuple[RunningServer, bool]:
        """Return a server for these terms, and whether it was already running."""
        key = _key(terms, modules)
        with self._lock:
            server = self._known.get(key)
            is_there = server is not None and server.may_be_shared
            if server is None or not is_there:
                server = self._known[key] = RunningServer(terms, modules)
            server.users.add(user)
            keeping = self._kept.pop(server, None)
        if keeping is not None:
            keeping.is_over.set()
        return server, is_there

    def let_go(self, user: object, server: RunningServer, *, is_fit: bool, keep: bool) -> None:
        """Release a server without other users: end it or, with `keep`, keep it for a while if it is fit."""
        with self._lock:
            server.users.discard(user)
            if not is_fit:
                self._forget(server)
            if server.users or (keep and server.may_be_kept and self._keep(server)):
                return
            self._forget(server)
        server.end()

    def _forget(self, server: RunningServer) -> None:
        """Stop offering a server to users."""
        for key in [key for key, known in self._known.items() if known is server]:
            del self._known[key]

    def _keep(self, server: RunningServer) -> bool:
        """Keep a server for a while; return False if the program is ending."""
        keeping = _Keeping(server, self._end_kept)
        try:
            if not self._is_over:
                keeping.start()
                self._kept[server] = keeping
                return True
        except RuntimeError:
            # The interpreter cannot start threads any more.
            pass
        return False

    def _end_kept(self, keeping: _Keeping) -> None:
        with self._lock:
            if self._kept.get(keeping.server) is not keeping:
                # Another thread has taken the server meanwhile, or is ending it.
                return
            del self._kept[keeping.server]
            self._forget(keeping.server)
        keeping.server.end()

    def end_kept(self) -> None:
        """End all servers that are kept without users."""
        if not self._kept or os.getpid() != self._home:
            return
        for keeping in list(self._kept.values()):
            self._end_kept(keeping)
            keeping.is_over.set()
            if keeping is not threading.current_thread():
                keeping.join()

    def _end(self) -> None:
        """End all servers because the program ends, and keep none from now on."""
        self._is_over = True
        self.end_kept()


class _Keeping(threading.Thread):
    """A timer thread that ends an unused server unless the server is used again in time."""

    def __init__(self, server: RunningServer, end: Callable[[_Keeping], object]) -> None:
        super().__init__(name="kept server", daemon=True)
        self.server = server
        self.is_over = threading.Event()
        self._end = end

    def run(self) -> None:
        """Wait, and then end the server."""
        if not self.is_over.wait(KEPT_SECONDS):
            self._end(self)


@cache
def servers(home: int) -> SharedServers:
    """Return the servers of the process with this number; a forked child starts with none."""
    return SharedServers()


def _key(terms: dict[str, Any], modules: Sequence[str]) -> bytes:
    """Return a key that is equal for servers that can stand in for each other."""
    changes = terms.get("environment")
    told = {name: terms.get(name) for name in ("on_error", "main", "variables", "seeds")}
    return encode(
        {
            **told,
            "modules": list(modules),
            "environment": variables.changed(os.environ, changes),
            "changes": changes or {},
            "python": os.fsdecode(interpreter.get_executable()),
            "flags": util._args_from_interpreter_flags(),  # type: ignore[attr-defined]
            "path": sys.path,
            "arguments": sys.argv,
            "folder": os.fsdecode(working_directory() or b""),
        }
    )
