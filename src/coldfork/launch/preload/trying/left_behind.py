"""Find what a process holds besides memory: threads, child processes, connections, files, file locks."""

from __future__ import annotations

import os
import stat
import sys
from time import sleep

from coldfork.launch.plumbing.linux import kernel
from coldfork.observe import states

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from coldfork.launch.preload.trying.lines import Site, Starts

    Key = tuple[str, object]
    Seen = dict[Key, tuple[str | None, Site]]
    """The resources that are there, each with the module and the line during which it was first seen."""


_PATIENCE = 50
_A_MOMENT = 0.002
"""A joined thread or process remains in the kernel's lists for a moment."""
_KINDS = {"thread": "thread", "process": "process", "flock": "lock"}
"""The kinds of resources as findings name them; every other kind is a connection."""
_SPOKEN = {
    "anon_inode:[eventpoll]": "an event loop's epoll is open",
    "anon_inode:inotify": "an inotify watch is open",
    "anon_inode:[io_uring]": "an io_uring is open",
}


class LeftBehind:
    """A record of the resources that have appeared in this process since `begin`."""

    def __init__(self, here: Callable[[], tuple[str | None, Site]], starts: Starts) -> None:
        self._here, self._starts = here, starts
        self._signature: object = None
        self._before: frozenset[Key] = frozenset()
        self.seen: Seen = {}

    def begin(self) -> None:
        """Ignore all resources that exist now."""
        self._before = frozenset(_present())
        self.seen = {}
        self._signature = _signature()

    def look(self) -> None:
        """Record new resources; cheap if there are none."""
        signature = _signature()
        if signature == self._signature:
            return
        self._signature = signature
        for key in _present():
            if key not in self._before and key not in self.seen:
                self.seen[key] = self._here()

    def left(self) -> list[tuple[str, str, str | None, Site]]:
        """Return the new resources that are still there: kind, description, responsible module and line."""
        self.look()
        found = []
        for key in self._staying():
            module, where = self.seen.get(key, (None, (None, None)))
            text, better = _told(key, self._starts)
            kind = _KINDS.get(key[0], "connection")
            found.append((kind, text, module, better if better[0] else where))
        return found

    def _staying(self) -> list[Key]:
        keys: list[Key] = []
        for _ in range(_PATIENCE):
            keys = [key for key in _present() if key not in self._before]
            if not any(key[0] in ("thread", "process") for key in keys):
                break
            sleep(_A_MOMENT)
        return keys


def _signature() -> object:
    return (os.listdir("/proc/self/task"), list(kernel.children(os.getpid())), os.listdir("/proc/self/fd"))


def _present() -> list[Key]:
    here = os.getpid()
    found: list[Key] = [("thread", int(tid)) for tid in os.listdir("/proc/self/task") if int(tid) != here]
    found += [("process", pid) for pid in kernel.descendants(here)]
    for name in os.listdir("/proc/self/fd"):
        try:
            kind = _kind_of(int(name))
        except OSError:
            continue
        if kind is not None:
            found.append((kind[0], (int(name), kind[1])))
    found += [("flock", inode) for inode in _locked_files(here)]
    return found


def _kind_of(descriptor: int) -> tuple[str, str] | None:
    """Return the kind and description of a descriptor, if a forked copy should not share it."""
    target = os.readlink(f"/proc/self/fd/{descriptor}")
    if target in _SPOKEN:
        return "kernel", target
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISSOCK(mode):
        return "socket", target
    if stat.S_ISFIFO(mode) and target.startswith("pipe:"):
        return "pipe", target
    if not stat.S_ISREG(mode) or not os.path.exists(target):
        # Devices are reported through their states, and an unnamed file is memory.
        return None
    return ("file", target) if _writes_anywhere(descriptor) else None


def _writes_anywhere(descriptor: int) -> bool:
    """Return whether a file is open for writing, other than for appending."""
    import fcntl

    flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
    return flags & os.O_ACCMODE != os.O_RDONLY and not flags & os.O_APPEND


def _locked_files(process: int) -> list[str]:
    """Return the files on which a process holds a lock, by device and number."""
    try:
        with open("/proc/locks", "rb") as stream:
            lines = [line.split() for line in stream]
    except OSError:
        return []
    return [
        words[5].decode("ascii", "replace")
        for words in lines
        if len(words) > 5 and words[4] == str(process).encode()
    ]


def _told(key: Key, starts: Starts) -> tuple[str, Site]:
    kind, what = key
    if kind == "thread":
        return _thread(int(str(what)), starts)
    if kind == "process":
        pid = int(str(what))
        return f"the process {kernel.name(pid)} was started and still runs", starts.process
    if kind == "flock":
        return "a file lock is held", (None, None)
    assert isinstance(what, tuple)
    descriptor, target = what
    if kind == "socket":
        return _socket(descriptor), starts.sockets.get(descriptor, (None, None))
    if kind == "pipe":
        return "a pipe is open, which every worker would share", (None, None)
    if kind == "kernel":
        return f"{_SPOKEN[target]}, which every worker would share", (None, None)
    return (
        f"{os.path.basename(target)} is open for writing at a position that every worker would share",
        starts.files.get(target, (None, None)),
    )


def _thread(tid: int, starts: Starts) -> tuple[str, Site]:
    threading: Any = sys.modules.get("threading")
    for thread in () if threading is None else threading.enumerate():
        if thread.native_id == tid:
            return f"the thread {thread.name!r} runs", starts.threads.get(id(thread), (None, None))
    for native in states.native_threads() or ():
        if native.tid == tid:
            return f"a thread of {native.owner or 'some library'} runs ({native.name})", (None, None)
    return "a thread runs whose owner cannot be read here", (None, None)


def _socket(descriptor: int) -> str:
    import socket

    try:
        with socket.socket(fileno=os.dup(descriptor)) as one:
            peer, own = _name(one.getpeername), _name(one.getsockname)
            listens = not peer and one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError:
        return "a socket is open"
    if peer:
        return f"a connection to {peer} is open"
    return f"a socket waits for connections at {own}" if listens else "a socket is open"


def _name(ask: Callable[[], Any]) -> str:
    try:
        name = ask()
    except OSError:
        return ""
    if isinstance(name, tuple):
        return f"{name[0]}:{name[1]}"
    return os.fsdecode(name) if name else "its own other end"
