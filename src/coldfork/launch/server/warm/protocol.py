"""The keeper's address, and the messages between the keeper, its clients and its servers.

A client connects to the keeper's socket, asks, and hears the answer on the same connection. To have a script
started, it sends along everything that the script's supervisor needs. The keeper passes that on to a server
together with the connection; the process that the server forks says `ready` on it, and begins when the client
says `go`. So a client that has given up, and started its script in the usual way, never has it run twice.
"""

from __future__ import annotations

import os
import socket
import stat
import struct
from binascii import crc32

from coldfork.launch.server.reads import OURS
from coldfork.launch.server.variables import while_importing
from coldfork.model.errors import UsageError
from coldfork.observe.installation import ROOT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

PLAN, CIRCUMSTANCES, CONTROL, LOCK, CALLER, STDIN, STDOUT, STDERR = range(8)
"""The places, among the descriptors of a start request, of what the supervisor needs."""
FACTS = 8
"""The place of what the keeper reads: the terms on which the server must have been started."""
OF_A_START = 9

SPARE = "COLDFORK_SPARE"
"""A variable of a server, by which the processes that its imports leave behind are found. In a script's
process, the variable by which the script is found takes its place.
"""
SPARE_ROOM = 96
"""The least length of its value."""
PRESENT = 1
"""The version of this protocol; messages of another version are not understood."""
CIRCUMSTANCES_READ = 6
"""The descriptor from which a supervisor reads its caller's circumstances."""

LISTENING = 3
"""The keeper's descriptor of the socket that clients connect to, made by the client that starts it."""
KEEPER, TERMS = 6, 7
"""A server's descriptors: the socket to the keeper, which closes when it is unneeded, and its terms."""
ROOM = 1024
"""How many bytes a server is started with for showing a script's command line."""

# --- the keeper's socket ---

_INSTALLATION = f"{crc32(os.fsencode(ROOT)):08x}"
"""Every installation of coldfork has a keeper of its own, because versions may differ."""
SOCKET_FILE = f"{_INSTALLATION}.sock"
LOCK_FILE = f"{_INSTALLATION}.lock"
LOG_FILE = f"{_INSTALLATION}.log"
_OURS_ALONE = 0o700
_OF_OTHERS = 0o077


def folder(environment: Mapping[str, str] = os.environ) -> str:
    """Return the keeper's folder, made if necessary; raise `UsageError` if other users could access it."""
    runtime = environment.get("XDG_RUNTIME_DIR")
    base = runtime if runtime and os.path.isdir(runtime) else None
    path = os.path.join(base, "coldfork") if base else _of_temporary_files()
    try:
        os.mkdir(path, _OURS_ALONE)
    except FileExistsError:
        pass
    except OSError as error:
        raise UsageError(f"cannot make the folder of warm servers {path}: {error.strerror}") from None
    _require_ours(path)
    return path


def _of_temporary_files() -> str:
    from tempfile import gettempdir

    return os.path.join(gettempdir(), f"coldfork-{os.getuid()}")


def _require_ours(path: str) -> None:
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise UsageError(f"{path} belongs to another user; warm servers need a folder of yours there")
    if found.st_mode & _OF_OTHERS:
        raise UsageError(
            f"{path} is accessible to other users: run chmod 700 {path}, because warm servers are yours alone"
        )


def connect(path: str) -> socket.socket | None:
    """Connect to this user's keeper; None if none is listening."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        made.connect(os.path.join(path, SOCKET_FILE))
        require_ours(made)
    except (FileNotFoundError, ConnectionRefusedError):
        made.close()
        return None
    except BaseException:
        made.close()
        raise
    return made


def require_ours(connection: socket.socket) -> None:
    """Refuse a connection to another user's process."""
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    if user != os.geteuid():
        raise PermissionError(f"the process at the other end belongs to user {user}")


# --- the facts that choose a server ---


class Wanted:
    """A script to be started from a server, and the modules that the server must have."""

    def __init__(
        self,
        python: str,
        words: Sequence[str],
        environment: Mapping[str, str],
        cwd: str | None,
        modules: Sequence[str],
    ) -> None:
        self.python = python
        self.words = words
        """The words after the interpreter on its command line."""
        self.environment = environment
        self.cwd = cwd
        self.modules = modules
        """The modules that its server has imported."""


class Facts:
    """The facts that decide which server may start a script."""

    def __init__(
        self,
        *,
        python: str,
        modules: tuple[str, ...],
        environment: dict[str, str],
        cwd: str,
        folder: str | None,
    ) -> None:
        self.python = python
        self.modules = modules
        self.environment = environment
        self.cwd = cwd
        self.folder = folder
        """The first folder of the script's import path."""

    @staticmethod
    def of(message: Mapping[str, Any]) -> Facts:
        """Return the facts in a client's message."""
        return Facts(
            python=message["python"],
            modules=tuple(message["modules"]),
            environment=dict(message["environment"]),
            cwd=message["cwd"],
            folder=message["folder"],
        )

    @property
    def server_environment(self) -> dict[str, str]:
        """Return the environment in which a server for such scripts starts."""
        return while_importing({n: value for n, value in self.environment.items() if n not in OURS})
