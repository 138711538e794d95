"""One server as its caller sees it: started, awaited, asked for workers, and ended."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import weakref
from contextlib import ExitStack, suppress
from multiprocessing import spawn as interpreter
from multiprocessing import util
from time import monotonic

from coldfork.launch.plumbing import channel
from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.plumbing.linux.posix_spawn import spawn
from coldfork.launch.plumbing.loop import readable
from coldfork.launch.server import variables
from coldfork.launch.server.circumstances import identity, working_directory
from coldfork.launch.server.zygote.requests import (
    GoneError,
    Started,
    answered,
    ask,
    request,
    request_changes,
    why_unfit,
)
from coldfork.model.errors import UsageError, ZygoteError
from coldfork.observe.installation import ROOT
from coldfork.observe.recording.events import encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from coldfork.launch.plumbing.channel import Message
    from coldfork.launch.server.zygote.requests import Contents

_PROGRAM = (
    # The working directory is left out: a file there may have the name of a module that the server needs.
    f"import sys; sys.path[:] = [{ROOT!r}, *filter(None, sys.path)]; "
    "from coldfork.launch.server.zygote.server import main; main()"
)
_A_MOMENT = 1.0
"""How long a spare whose server has died may take to answer."""
_MOST_LOST = 5
"""The number of spares in a row that may die when asked."""


class RunningServer:
    """A server that this process has started."""

    def __init__(self, terms: dict[str, Any], modules: Sequence[str], suspect: str | None = None) -> None:
        self.mark: str = f"{os.getpid()}-{os.urandom(8).hex()}"
        self.modules: tuple[str, ...] = tuple(modules)
        self.early: dict[str, str] = variables.early(
            variables.changed(os.environ, terms.get("environment")), terms.get("variables", ())
        )
        """The variables that the server reads early, with their values at its start."""
        self.identity: dict[str, str] = identity()
        self.answer: Message | None = None
        """Its latest message about itself: that it is ready, or why it is unfit."""
        self.importing: str | None = None
        """The module that it was importing when it reported last."""
        self.trouble: str | None = None
        """The reason for its end, if it could still report that."""
        self.users: weakref.WeakSet[object] = weakref.WeakSet()
        """Its users, if it is shared."""
        self._terms = terms
        self._lock = threading.RLock()
        self._spares = _Spares()
        self._start(suspect)
        ends = (self._status, self._requests, self.asking)
        self._end = weakref.finalize(self, _end, os.getpid(), self.pid, self._spares, *ends)
        # When the program ends, the server ends by itself as soon as nothing needs it.
        self._end.atexit = False

    def _start(self, suspect: str | None) -> None:
        with ExitStack() as opened:
            ours, theirs = [], []
            for _ in range(3):
                one, other = channel.pair()
                ours.append(one)
                theirs.append(opened.enter_context(other))
            self._status, self._requests, self.asking = ours
            status, requests, errands = theirs
            caller = os.pidfd_open(os.getpid())
            opened.callback(os.close, caller)
            plan = channel.holding("coldfork", encode(self._plan(suspect)))
            opened.callback(os.close, plan)
            # In the order of DESCRIPTORS in the server's code.
            given = (status.fileno(), requests.fileno(), errands.fileno(), caller, plan, self.asking.fileno())
            descriptors = dict(enumerate(given, 3))
            python = os.fsdecode(interpreter.get_executable())
            flags: list[str] = util._args_from_interpreter_flags()  # type: ignore[attr-defined]
            asked = variables.changed(os.environ, self._terms.get("environment"))
            environment = variables.for_server(asked, self.mark)
            try:
                self.pid: int = spawn(
                    [python, *flags, "-c", _PROGRAM], environment, descriptors, own_session=False
                )
            except OSError as error:
                if error.filename is None:
                    raise
                raise UsageError(f"cannot start {python}: {error.strerror}") from None
        self._process = os.pidfd_open(self.pid)
        weakref.finalize(self, _close_descriptor, os.getpid(), self._process)

    def _plan(self, suspect: str | None) -> dict[str, Any]:
        here = os.fsdecode(working_directory() or b"")
        # An empty entry means the working directory; if that was deleted, it holds no modules.
        path = [entry or here for entry in sys.path if entry or here]
        return {
            "modules": self.modules,
            "suspect": suspect,
            "main": self._terms["main"],
            "forgiving": self._terms["on_error"] != "fail",
            "path": path,
            "arguments": sys.argv,
            "ready": self._terms.get("ready", ()),
            "mask": list(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, ()))),
            # The death signal comes when the starting thread ends; only a main thread ends together with its
            # process.
            "tied": threading.get_native_id() == os.getpid(),
            "caller": os.getpid(),
            "mark": self.mark,
            # The requested variables are already in the server's environment, so workers inherit them.
            "terms": {**self._terms, "environment": {}, "early": self.early, "identity": self.identity},
        }

    @property
    def why_unfit(self) -> str | None:
        """Return why workers of this server would differ from this process; None if they would not."""
        answer = self.answer or {}
        also = self._terms.get("variables", ())
        imported, made = answer.get("imported", ()), answer.get("made")
        return why_unfit(self.early, self.identity, imported, also, made, self._terms.get("environment"))

    @property
    def may_be_shared(self) -> bool:
        """Return whether further users may use this server: it runs, and is not known to be unfit."""
        is_fit = self.answer is None or self.answer["is"] == "ready"
        return is_fit and self._end.alive and not readable([self._process], 0)

    @property
    def may_be_kept(self) -> bool:
        """Return whether the server is worth keeping for a later user."""
        return self.answer is not None and self.may_be_shared

    @property
    def ended(self) -> str:
        """Return a sentence that says how the server ended."""
        where = "" if self.importing is None else f" while it imported {self.importing}"
        if self.trouble is not None:
            return f"the server (pid {self.pid}) ended{where}, because of {self.trouble}"
        return f"the server (pid {self.pid}) ended{where}; see its output in this program's standard error"

    def changed_file(self, patience: float) -> str | None:
        """Return an imported file that has changed since; raise `GoneError` if the server has ended."""
        reply = request_changes(self.asking)
        with reply:
            answered(reply, self._process, patience, self.pid)
            received = channel.receive(reply, socket.MSG_DONTWAIT)
        if received is None:
            raise GoneError
        changed: str | None = received[0]["path"]
        return changed

    def wait(self, until: float | None = None) -> Message:
        """Wait until the server is ready or unfit; raise `GoneError` if it has ended instead."""
        with self._lock:
            while self.answer is None:
                left = None if until is None else max(0.0, until - monotonic())
                if not readable([self._status.fileno()], left):
                    raise ZygoteError(
                        f"the server (pid {self.pid}) was not ready in time; it is importing {self.importing}"
                    )
                self._hear(0)
            return self.answer

    def _hear(self, flags: int) -> bool:
        """Handle the server's next message; return False if there is none now."""
        try:
            received = channel.receive(self._status, flags)
        except BlockingIOError:
            return False
        if received is None:
            raise GoneError
        message, _ = received
        kind = message["is"]
        if kind == "importing":
            self.importing = message["module"]
        elif kind == "spare":
            self._spares.announced(message["pid"])
        elif kind == "lost":
            self._spares.lost(message["pid"])
        elif kind == "trouble":
            self.trouble = message["text"]
        else:
            self.answer = message
        return True

    def start(self, contents: Contents, descriptors: Sequence[int], patience: float) -> Started:
        """Start a worker to do the pickled work; raise `GoneError` if the server is gone."""
        with self._lock:
            ready = self.wait()
            if not ready.get("siblings"):
                return ask(self.asking, contents, descriptors, patience, self._process)
            with suppress(GoneError):
                while self._hear(socket.MSG_DONTWAIT):
                    pass
            for _ in range(_MOST_LOST):
                reply = request(self._requests, contents, descriptors)
                with reply:
                    pid = self._answered(reply, patience)
                if pid is not None:
                    break
            else:
                raise GoneError
            self._spares.taken(pid)
            return Started(pid, os.pidfd_open(pid))

    def _answered(self, reply: socket.socket, patience: float) -> int | None:
        """Return the pid of the worker that took a request; None if it died before it could answer."""
        alive = answered(reply, self._process, patience, self.pid)
        if not alive and not readable([reply.fileno()], _A_MOMENT):
            # A waiting spare would have taken the request by now. End the server and the spare: if the
            # request were taken later, its work would be done twice.
            self.end()
        try:
            received = channel.receive(reply, socket.MSG_DONTWAIT)
        except BlockingIOError:
            received = None
        if received is not None:
            return int(received[0]["pid"])
        if not alive:
            raise GoneError
        return None

    def interrupt(self) -> None:
        """Kill the server, even while a thread of this process waits for it; that thread will notice."""
        if self._end.alive:
            _kill(self.pid)

    def end(self) -> None:
        """End the server and its spare; workers keep running."""
        with self._lock:
            self._end()


class _Spares:
    """The spares: workers forked in advance, as children of this process."""

    def __init__(self) -> None:
        self._waiting: set[int] = set()
        self._taken_before: set[int] = set()
        """Spares that answered before the server had announced them."""

    def announced(self, pid: int) -> None:
        """Record that the server has forked a spare."""
        if pid in self._taken_before:
            self._taken_before.discard(pid)
        else:
            self._waiting.add(pid)

    def taken(self, pid: int) -> None:
        """Record that a spare has become a worker."""
        if pid in self._waiting:
            self._waiting.discard(pid)
        else:
            self._taken_before.add(pid)

    def lost(self, pid: int) -> None:
        """Record that a spare died before it got a request, and reap it."""
        self._waiting.discard(pid)
        kernel.reap(pid)

    def end(self) -> None:
        """End the waiting spares."""
        while self._waiting:
            pid = self._waiting.pop()
            _kill(pid)
            kernel.reap(pid)


def _end(home: int, server: int, spares: _Spares, status: socket.socket, *others: socket.socket) -> None:
    """End a server and its spares, and reap them."""
    if os.getpid() == home:
        _kill(server)
        kernel.reap(server)
        with suppress(OSError):
            # The server's last messages about spares come before the end of the socket.
            while readable([status.fileno()], _A_MOMENT):
                received = channel.receive(status)
                if received is None:
                    break
                if received[0]["is"] == "spare":
                    spares.announced(received[0]["pid"])
                elif received[0]["is"] == "lost":
                    spares.lost(received[0]["pid"])
        spares.end()
    for each in (status, *others):
        each.close()


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def _close_descriptor(home: int, descriptor: int) -> None:
    if os.getpid() == home:
        os.close(descriptor)
