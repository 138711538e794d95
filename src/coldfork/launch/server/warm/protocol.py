"""The keeper's address, and the messages between the keeper, its clients and its servers.

A client connects to the keeper's socket, and gets the answer to its request on the same connection. A request
to start a script contains everything that the script's supervisor needs. The keeper passes it on to a server
together with the connection. The process that the server forks says `ready` on the connection, and begins
when the client says `go`. So if a client has given up and started its script in the usual way, the script
does not run a second time.
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
"""The positions, among the descriptors of a start request, of those that the supervisor needs."""
FACTS = 8
"""The position of a descriptor from which the keeper reads the terms that a server must already satisfy."""
OF_A_START = 9

SPARE = "COLDFORK_SPARE"
"""A variable that a server gives to the processes started by its imports, so that they can be found. In a
script's process it is replaced by the variable by which the script is found.
"""
SPARE_ROOM = 96
"""The least length of this variable's value."""
PRESENT = 1
"""The version of this protocol; messages of another version are not understood."""
CIRCUMSTANCES_READ = 6
"""The descriptor from which a supervisor reads its caller's circumstances."""

LISTENING = 3
"""The keeper's descriptor of the socket that clients connect to, made by the client that starts it."""
KEEPER, TERMS = 6, 7
"""A server's descriptors: its terms, and the socket to the keeper, which closes when the server is not
needed.
"""
ROOM = 1024
"""The number of bytes that a server's command line has, as room for a script's command line."""

# --- the keeper's socket ---

_INSTALLATION = f"{crc32(os.fsencode(ROOT)):08x}"
"""Every installation of coldfork has its own keeper, because versions may differ."""
SOCKET_FILE = f"{_INSTALLATION}.sock"
LOCK_FILE = f"{_INSTALLATION}.lock"
LOG_FILE = f"{_INSTALLATION}.log"
_OURS_ALONE = 0o700
_OF_OTHERS = 0o077


def folder(environment: Mapping[str, str] = os.environ) -> str:
    """Return the keeper's folder, made if necessary; raise `UsageError` if other users can access it."""
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


# --- the facts that decide which server is used ---


class Wanted:
    """A script that a server should start, and the modules that the server must have."""

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
        """The words after the interpreter on the script's command line."""
        self.environment = environment
        self.cwd = cwd
        self.modules = modules
        """The modules that the server must have imported."""


class Facts:
    """The facts that decide which servers may start a script."""

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
        """Return the environment in which a server for such scripts is started."""
        return while_importing({n: value for n, value in self.environment.items() if n not in OURS})
