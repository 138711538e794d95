"""Send a server its terms and requests for workers, and wait for the answers."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import ExitStack

from coldfork.launch.plumbing import channel
from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.plumbing.loop import readable
from coldfork.launch.plumbing.streams import is_open
from coldfork.launch.server import variables
from coldfork.launch.server.circumstances import difference, identity
from coldfork.launch.server.preload_list import ENDING, read
from coldfork.model.errors import UsageError, ZygoteError
from coldfork.observe.processes.table import standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Contents = Sequence[bytes | memoryview]

POLICIES = ("fail", "warn", "ignore")


class GoneError(Exception):
    """The server has ended, so the request was lost."""


class Started:
    """A worker that was started."""

    def __init__(self, pid: int, sentinel: int, statuses: socket.socket | None = None) -> None:
        self.pid = pid
        self.sentinel = sentinel
        """A descriptor that becomes readable when the worker has ended."""
        self.statuses = statuses
        """The socket on which its end is reported; None for a child of this process."""


def why_unfit(
    early: dict[str, str],
    then: Mapping[str, str],
    imported: Sequence[str],
    also: Sequence[str] = (),
    made: dict[str, str | None] | None = None,
    changes: dict[str, str | None] | None = None,
) -> str | None:
    """Return why workers of a server with these properties would differ from this process; None if not."""
    late = variables.too_late(early, variables.changed(os.environ, changes), imported, also, made)
    if late:
        return f"it read {', '.join(late)}, which has changed since"
    what = difference(then, identity())
    return None if what is None else f"the {what} of this process has changed since"


def ask(
    asking: socket.socket,
    contents: Contents,
    descriptors: Sequence[int],
    patience: float,
    process: int | None = None,
) -> Started:
    """Have a server start a worker as the server's own child; the server will report its end."""
    reply = request(asking, contents, descriptors)
    try:
        answered(reply, process, patience)
        received = channel.receive(reply, socket.MSG_DONTWAIT)
        if received is None:
            raise GoneError
    except BaseException:
        reply.close()
        raise
    return Started(int(received[0]["pid"]), reply.fileno(), reply)


def request(to: socket.socket, contents: Contents, descriptors: Sequence[int]) -> socket.socket:
    """Send a request; return the socket to which the answer comes."""
    from multiprocessing import resource_tracker

    streams = [number for number in (0, 1, 2) if is_open(number)]
    ours, theirs = channel.pair()
    with theirs, ExitStack() as opened:
        memory = channel.holding("coldfork", *contents)
        opened.callback(os.close, memory)
        caller = os.pidfd_open(os.getpid())
        opened.callback(os.close, caller)
        tracker = int(resource_tracker.getfd() or 0)
        carried = [theirs.fileno(), memory, caller, tracker, *streams, *descriptors]
        if len(carried) > channel.MOST_DESCRIPTORS:
            ours.close()
            raise ValueError("too many fds")
        try:
            channel.send(to, {"is": "start", "streams": streams}, carried)
        except OSError:
            ours.close()
            raise GoneError from None
    return ours


def request_changes(to: socket.socket) -> socket.socket:
    """Ask a server which file of its modules has changed; return the socket to which the answer comes."""
    ours, theirs = channel.pair()
    with theirs:
        try:
            channel.send(to, {"is": "changes"}, [theirs.fileno()])
        except OSError:
            ours.close()
            raise GoneError from None
    return ours


def answered(reply: socket.socket, process: int | None, patience: float, pid: int | None = None) -> bool:
    """Wait for an answer; return False if the server has ended first."""
    waited = [reply.fileno()] if process is None else [reply.fileno(), process]
    ready = readable(waited, patience)
    if not ready:
        raise ZygoteError(f"the server{_which(pid)} has not answered for {patience:g} s{_state(pid)}")
    return reply.fileno() in ready


def _which(pid: int | None) -> str:
    return "" if pid is None else f" (pid {pid})"


def _state(pid: int | None) -> str:
    """Return a hint if a process does not answer because it is stopped; otherwise an empty string."""
    found = None if pid is None else standing(pid)
    stopped = found is not None and found.is_stopped
    return "; it is stopped: kill -CONT resumes it" if stopped else ""


def is_same(held: socket.socket, number: int | None) -> bool:
    """Return whether a descriptor is still our socket: a program may have closed it, and its number been
    reused.
    """
    try:
        return os.fstat(held.fileno()).st_ino == number
    except OSError:
        return False


def terms(preload: Sequence[str] | os.PathLike[str], on_error: str) -> dict[str, Any]:
    """Check the options for a server, and return them."""
    more: dict[str, Any] = {}
    if isinstance(preload, os.PathLike) or (isinstance(preload, str) and preload.endswith(ENDING)):
        listed = read(preload)
        preload = listed.modules
        more = {"variables": sorted(listed.variables), "seeds": list(listed.seeds)}
    if not kernel.supported() or not kernel.has_process_descriptors():
        raise UsageError(f"a zygote needs Linux 5.4 or newer with /proc, but this is {sys.platform}")
    if isinstance(preload, str) or not all(isinstance(name, str) for name in preload):
        raise UsageError(
            f"preload has to be a list of dotted module names, or a file whose name ends with {ENDING}"
        )
    if on_error not in POLICIES:
        known = ", ".join(f'"{name}"' for name in POLICIES)
        raise UsageError(f"there is no on_error {on_error!r}; choose {known}")
    return {"preload": list(preload), "on_error": on_error, "main": _main_file(), **more}


def _main_file() -> str | None:
    """Return the path of the caller's main program, as multiprocessing would import it."""
    from multiprocessing import process

    path = getattr(sys.modules.get("__main__"), "__file__", None)
    original: str | None = process.ORIGINAL_DIR  # type: ignore[attr-defined]
    if path is not None and original is not None:
        path = os.path.join(original, path)
    return None if path is None else os.path.normpath(path)
