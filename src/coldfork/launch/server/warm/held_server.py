"""A server as its keeper sees it: started, listened to, and asked to start scripts."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack, suppress
from enum import StrEnum
from signal import SIGKILL
from time import monotonic, time

from coldfork.launch.plumbing import channel
from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.plumbing.linux.posix_spawn import spawn
from coldfork.launch.server import reads
from coldfork.launch.server.warm import protocol
from coldfork.launch.supervisor.watch import proportional
from coldfork.observe.installation import ROOT
from coldfork.observe.recording.events import decode, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from coldfork.launch.plumbing.channel import Message
    from coldfork.launch.server.warm.protocol import Facts

_PROGRAM = (
    "import sys; at_start = frozenset(sys.modules); path = [entry for entry in sys.path if entry]; "
    f"sys.path[:] = [{ROOT!r}, *path]; "
    "from coldfork.launch.server.warm.server import main; main(path, at_start)"
)


class State(StrEnum):
    """The state of a server."""

    IMPORTING = "importing"
    READY = "ready"
    UNFIT = "unfit"
    GONE = "gone"


class Unlike(StrEnum):
    """The consequence if a server cannot start a script as if it were started anew."""

    STALE = "stale"
    """Replace the server: no script can use it any more."""
    OTHER = "other"
    """Start another server beside this one."""
    NEITHER = "neither"
    """Start the script without a server, because no server could start it."""


class HeldServer:
    """A server that this keeper has started."""

    def __init__(self, facts: Facts, log: int, folder: str | None = None) -> None:
        self.facts = facts
        self.folder = folder
        """The first folder of its import path, if there is a module that is found only there."""
        self.state: State = State.IMPORTING
        self.importing: str | None = None
        self.trouble: str | None = None
        self.missing: str | None = None
        """A module that the server did not find."""
        self.overtaken: str | None = None
        """A file that was written while the server imported it."""
        self.began: float = time()
        self.ready_after: float | None = None
        self.last_used: float = monotonic()
        self.starts: int = 0
        self._since = monotonic()
        self._read: dict[str, Any] = {}
        self._mark = f"{os.getpid()}-{os.urandom(8).hex()}".ljust(protocol.SPARE_ROOM, "-")
        self._files = reads.noted([facts.python, _configuration(facts.python)])
        started = self._start(log)
        self.socket: socket.socket = started[0]
        self.pid: int = started[1]

    def _start(self, log: int) -> tuple[socket.socket, int]:
        facts = self.facts
        ours, theirs = channel.pair()
        with theirs, ExitStack() as opened:
            failed = opened.enter_context(ExitStack())
            failed.callback(ours.close)
            nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            opened.callback(os.close, nowhere)
            plan = channel.holding("coldfork", encode({"modules": facts.modules, "folder": self.folder}))
            opened.callback(os.close, plan)
            # The lower numbers are filled, because supervisors will use them for descriptors of their own.
            given = {**dict.fromkeys(range(protocol.KEEPER), nowhere), 1: log, 2: log}
            given |= {protocol.KEEPER: theirs.fileno(), protocol.TERMS: plan}
            environment = {**facts.server_environment, protocol.SPARE: self._mark}
            here = os.getcwd()
            try:
                os.chdir(facts.cwd)
                command = [facts.python, "-c", _PROGRAM, " " * protocol.ROOM]
                pid = spawn(command, environment, given, own_session=True)
            finally:
                os.chdir(here)
            failed.pop_all()
        return ours, pid

    def hear(self) -> list[Message]:
        """Return the server's messages since the last call; its end counts as a change of state."""
        heard: list[Message] = []
        while self.state is not State.GONE:
            try:
                received = channel.receive(self.socket, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            if received is None:
                self._end()
                break
            message, descriptors = received
            self._take(message, descriptors)
            heard.append(message)
        return heard

    def _take(self, message: Message, descriptors: Sequence[int]) -> None:
        kind = message["is"]
        if kind == "importing":
            self.importing = message["module"]
        elif kind == "overtaken":
            self.overtaken = message["path"]
        elif kind == "unfit":
            self.state = State.UNFIT
            self.trouble = f"cannot preload {message['module']}: {message['text']}"
            self.missing = message["missing"]
        elif kind == "ready":
            with os.fdopen(descriptors[0], "rb") as stream:
                stream.seek(0)
                self._read = decode(stream.read().decode("ascii"))
            self._files |= self._read.pop("files")
            self.state = State.READY
            self.ready_after = monotonic() - self._since

    def _end(self) -> None:
        if self.state is not State.UNFIT:
            self.state = State.GONE
            where = (
                f" while it imported {self.importing}" if self.ready_after is None and self.importing else ""
            )
            self.trouble = self.trouble or f"its server ended{where}"

    def unlike(self, facts: Facts) -> tuple[Unlike, str] | None:
        """Return how a script from this server would differ from one started anew; None if it would not."""
        path = reads.changed(self._files)
        if path is not None:
            return Unlike.STALE, f"{path} has changed since it was imported"
        if self.state is not State.READY:
            return None
        name = reads.read_otherwise(self.facts.environment, facts.environment, self._read)
        if name is not None:
            return Unlike.OTHER, f"{name} has changed since an import read it"
        reader = self._read["folder"]
        if reader is not None and facts.cwd != self.facts.cwd:
            return Unlike.OTHER, f"{reader} has read the working directory, and the script's differs"
        path = _stand_in(self._read["names"], facts.folder)
        if path is not None:
            return (
                Unlike.NEITHER,
                f"the script would import {path} in place of a module that the server has already imported",
            )
        return None

    def start(self, terms: Message, descriptors: Sequence[int]) -> bool:
        """Have the server start a script; False if the server is gone."""
        try:
            channel.send(self.socket, {**terms, "is": "start"}, descriptors)
        except OSError:
            self._end()
            return False
        self.starts += 1
        self.last_used = monotonic()
        return True

    def end(self) -> None:
        """End the server; its scripts keep running."""
        self.state = State.GONE
        with suppress(ProcessLookupError):
            os.kill(self.pid, SIGKILL)
        kernel.reap(self.pid)
        # Kill processes that the imports have started; scripts have another mark and are spared.
        kernel.end_marked(protocol.SPARE, {self._mark})
        self.socket.close()

    def described(self) -> Message:
        """Return a description of the server for clients."""
        return {
            "pid": self.pid,
            "python": self.facts.python,
            "modules": list(self.facts.modules),
            "state": self.state.value,
            "importing": self.importing if self.state is State.IMPORTING else None,
            "trouble": self.trouble,
            "began": self.began,
            "ready_after_seconds": None if self.ready_after is None else round(self.ready_after, 3),
            "idle_seconds": round(monotonic() - self.last_used, 3),
            "scripts": self.starts,
            "pss_bytes": proportional(self.pid),
        }


def _configuration(python: str) -> str:
    """Return the file that names the base interpreter of a virtual environment."""
    return os.path.join(os.path.dirname(os.path.dirname(python)), "pyvenv.cfg")


def _stand_in(names: Mapping[str, str], folder: str | None) -> str | None:
    """Return a file in the script's folder that would be imported in place of a module of the server."""
    if folder is None:
        return None
    try:
        listed = os.listdir(folder)
    except OSError:
        return None
    for entry in listed:
        name, dot, _ = entry.partition(".")
        home = names.get(name)
        if home is None or os.path.realpath(home) == os.path.realpath(folder):
            continue
        path = os.path.join(folder, entry)
        if entry.endswith((".py", ".pyc", ".so")) or (
            not dot and os.path.exists(os.path.join(path, "__init__.py"))
        ):
            return path
    return None
