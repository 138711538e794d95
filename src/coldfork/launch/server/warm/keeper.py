"""The keeper: a process of this user that keeps servers ready between runs, and passes requests to them.

It imports none of the modules that servers import. Scripts are not its children and keep running when it
ends; its servers end with it.
"""

from __future__ import annotations

import os
import socket
import sys
from _signal import SIG_SETMASK, pthread_sigmask
from contextlib import suppress
from time import monotonic

from coldfork.launch.plumbing import channel
from coldfork.launch.plumbing.loop import Loop
from coldfork.launch.plumbing.streams import close_above
from coldfork.launch.server import reads
from coldfork.launch.server.circumstances import difference, inherited
from coldfork.launch.server.warm import protocol
from coldfork.launch.server.warm.held_server import HeldServer, State, Unlike
from coldfork.launch.server.warm.protocol import Facts
from coldfork.observe.recording.events import decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldfork.launch.plumbing.channel import Message

_MOST_SERVERS = 8
_UNFIT_FOR = 60.0
"""An unfit server is remembered for this many seconds before it is tried again."""
_MOST_TRIES = 3


class Keeper:
    """The keeper, in its own process."""

    def __init__(self, folder: str, idle: float) -> None:
        self._folder = folder
        self._idle = idle
        self._listening = socket.socket(fileno=protocol.LISTENING)
        self._loop = Loop()
        self._servers: list[HeldServer] = []
        self._waiting: dict[int, list[socket.socket]] = {}
        """The clients that wait for news of a server, by the server's pid."""
        self._inherited = inherited()
        self._files = reads.noted(_own_files())
        self._last = monotonic()
        self._over = False
        self._unlinked = False
        self._log = _log(os.path.join(folder, protocol.LOG_FILE))

    def run(self) -> None:
        """Keep servers until no request has come for a while, or until it is told to stop."""
        self._loop.watch(self._listening.fileno(), self._welcome)
        while not self._over:
            left = self._last + self._idle - monotonic()
            if left <= 0 and not self._waiting:
                break
            self._loop.turn(None if self._waiting else left)
        self._close()

    def _close(self) -> None:
        self._unlink()
        self._listening.close()
        for server in self._servers:
            server.end()

    def _unlink(self) -> None:
        """Remove the socket file, but only once: a later file belongs to another keeper."""
        if not self._unlinked:
            self._unlinked = True
            with suppress(OSError):
                os.unlink(os.path.join(self._folder, protocol.SOCKET_FILE))

    # --- clients ---

    def _welcome(self) -> None:
        connection, _ = self._listening.accept()
        try:
            protocol.require_ours(connection)
        except PermissionError:
            connection.close()
            return
        self._loop.watch(connection.fileno(), lambda: self._hear(connection))

    def _hear(self, connection: socket.socket) -> None:
        self._loop.forget(connection.fileno())
        descriptors: list[int] = []
        try:
            received = channel.receive(connection, socket.MSG_DONTWAIT)
            if received is None:
                connection.close()
                return
            message, descriptors = received
            self._last = monotonic()
            self._answer(connection, message, descriptors)
        except (OSError, ValueError, LookupError, TypeError) as error:
            _say(
                connection,
                {
                    "is": "cold",
                    "why": f"the keeper cannot read the request: {type(error).__name__}: {error}",
                },
            )
            connection.close()
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _answer(self, connection: socket.socket, message: Message, descriptors: list[int]) -> None:
        kind = message["is"]
        if message["version"] != protocol.PRESENT or reads.changed(self._files) is not None:
            # This request and later ones need a new keeper, which the client starts now.
            self._over = True
            self._unlink()
            _say(connection, {"is": "again", "why": "coldfork has changed since its keeper was started"})
        elif kind == "start":
            self._start(connection, message, descriptors)
        elif kind == "prepare" and self._prepare(connection, message, descriptors[0]):
            # The client stays connected and waits for the server.
            return
        elif kind == "status":
            _say(connection, self._described())
        elif kind == "stop":
            self._over = True
            self._unlink()
            _say(connection, {"is": "stopped", "servers": len(self._living())})
        connection.close()

    def _described(self) -> Message:
        for server in self._servers:
            server.hear()
        return {
            "is": "status",
            "pid": os.getpid(),
            "idle_timeout_seconds": self._idle,
            "servers": [server.described() for server in self._servers],
        }

    def _start(self, connection: socket.socket, message: Message, descriptors: list[int]) -> None:
        numbers = message["numbers"]
        if len(descriptors) != protocol.OF_A_START + len(numbers):
            raise ValueError(f"{len(descriptors)} descriptors")
        given, facts = self._facts(descriptors[protocol.FACTS])
        why = self._unsuited(given)
        if why is None:
            server, why = self._fit(facts)
            if server is not None:
                handed_on = descriptors[protocol.OF_A_START :]
                sent = [*descriptors[: protocol.FACTS], *handed_on, connection.fileno()]
                if server.start({"mark": message["mark"], "numbers": numbers}, sent):
                    return
                why = "its server has ended"
        _say(connection, {"is": "cold", "why": why})

    def _prepare(self, connection: socket.socket, message: Message, descriptor: int) -> bool:
        """Have a server prepared; return True if the client will be told of its progress later."""
        given, facts = self._facts(descriptor)
        self._idle = message.get("idle") or self._idle
        why = self._unsuited(given)
        if why is not None:
            _say(connection, {"is": "cold", "why": why})
            return False
        for ended in [one for one in self._servers if one.state in (State.UNFIT, State.GONE)]:
            self._drop(ended)
        fit, why = self._fit(facts)
        if fit is not None:
            _say(connection, {"is": "ready", "server": fit.described()})
            return False
        on_its_way = (
            one for one in reversed(self._servers) if one.state is State.IMPORTING and _is_for(one, facts)
        )
        server = next(on_its_way, None)
        if server is None:
            _say(connection, {"is": "cold", "why": why})
            return False
        self._waiting.setdefault(server.pid, []).append(connection)
        return True

    def _facts(self, descriptor: int) -> tuple[dict[str, Any], Facts]:
        with open(descriptor, "rb", closefd=False) as stream:
            stream.seek(0)
            given = decode(stream.read().decode("ascii"))
        return given, Facts.of(given)

    def _unsuited(self, given: dict[str, Any]) -> str | None:
        what = difference(self._inherited, given["inherited"])
        return None if what is None else f"its {what} differs from that of the keeper (pid {os.getpid()})"

    # --- servers ---

    def _living(self) -> list[HeldServer]:
        return [server for server in self._servers if server.state in (State.IMPORTING, State.READY)]

    def _fit(self, facts: Facts) -> tuple[HeldServer | None, str]:
        """Return a server that suits such a script; if there is none, return the reason, and usually start
        one.
        """
        why = f"no server had {', '.join(facts.modules)} ready; one is being started"
        for server in list(self._servers):
            if not _is_for(server, facts):
                continue
            server.hear()
            unlike = server.unlike(facts)
            if server.state is State.GONE or (unlike is not None and unlike[0] is Unlike.STALE):
                why = f"{unlike[1] if unlike else server.trouble}; another server is being started"
                self._drop(server)
            elif server.state is State.UNFIT:
                if server.facts.environment == facts.environment and not _is_old(server):
                    return None, server.trouble or ""
                self._drop(server)
            elif server.state is State.IMPORTING:
                if server.facts.server_environment == facts.server_environment:
                    return None, f"its server is still importing {server.importing or facts.modules[0]}"
            elif unlike is None:
                return server, ""
            elif unlike[0] is Unlike.NEITHER:
                return None, unlike[1]
            else:
                why = f"{unlike[1]}; another server is being started"
        self._begin(facts)
        return None, why

    def _begin(self, facts: Facts, folder: str | None = None, tries: int = 1) -> HeldServer:
        if len(self._servers) >= _MOST_SERVERS:
            self._drop(min(self._servers, key=lambda one: one.last_used))
        server = HeldServer(facts, self._log, folder)
        self._servers.append(server)
        self._loop.watch(server.socket.fileno(), lambda: self._news(server, tries))
        return server

    def _news(self, server: HeldServer, tries: int) -> None:
        heard = server.hear()
        waiting = self._waiting.get(server.pid, [])
        for message in heard:
            if message["is"] == "importing":
                for connection in waiting:
                    _say(connection, message)
        if server.state is State.IMPORTING:
            return
        again = self._replacement(server, tries)
        waiting = self._waiting.pop(server.pid, [])
        self._last = monotonic()
        if again is not None:
            if waiting:
                self._waiting[again.pid] = waiting
            return
        for connection in waiting:
            if server.state is State.READY:
                _say(connection, {"is": "ready", "server": server.described()})
            else:
                _say(connection, {"is": "cold", "why": server.trouble})
            connection.close()
        if server.state is not State.READY:
            self._loop.forget(server.socket.fileno())

    def _replacement(self, server: HeldServer, tries: int) -> HeldServer | None:
        """Start another attempt if the failure of the first has shown how; else return None."""
        if tries >= _MOST_TRIES:
            return None
        folder = server.folder
        if server.missing is not None and folder is None and server.facts.folder is not None:
            # The missing module may be in the script's own folder.
            folder = server.facts.folder
        elif server.overtaken is None or server.state is not State.GONE:
            return None
        self._drop(server)
        return self._begin(server.facts, folder, tries + 1)

    def _drop(self, server: HeldServer) -> None:
        self._loop.forget(server.socket.fileno())
        self._servers.remove(server)
        for connection in self._waiting.pop(server.pid, ()):
            connection.close()
        server.end()


def _is_for(server: HeldServer, facts: Facts) -> bool:
    if server.folder is not None and server.folder != facts.folder:
        return False
    return (server.facts.python, server.facts.modules) == (facts.python, facts.modules)


def _is_old(server: HeldServer) -> bool:
    return monotonic() - server.last_used > _UNFIT_FOR


def _say(connection: socket.socket, message: Message) -> None:
    with suppress(OSError):
        channel.send(connection, message)


def _log(path: str) -> int:
    """Open the servers' log file; if the disk is full, log to nowhere."""
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError:
        return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)


def _own_files() -> list[str]:
    return [
        str(module.__file__)
        for name, module in sys.modules.items()
        if name.partition(".")[0] == "coldfork" and getattr(module, "__file__", None)
    ]


def main(folder: str, idle: float) -> None:
    """Run a keeper in this process."""
    if os.fork():
        os._exit(0)
    os.setsid()
    pthread_sigmask(SIG_SETMASK, ())
    # Servers must not inherit files that the keeper's first client had open.
    close_above(protocol.LISTENING)
    os.chdir("/")
    os.umask(0o077)
    Keeper(folder, idle).run()
