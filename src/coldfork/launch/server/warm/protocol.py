"""Where the keeper is found, what it, its clients and its servers tell each other, and in which order.

A client connects to the keeper's socket, asks, and hears the answer on the same connection. To have a script
started, it sends along everything that the script's supervisor needs. The keeper hands that on to a server
with the connection itself; what the server forks says `ready` on it, and begins when the client says `go`.
So a client that has given up, and started its script in the usual way, never has it run twice.
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
"""The places, among the descriptors of a request to start, of what the supervisor needs."""
FACTS = 8
"""And of what the keeper reads: on which terms the server must have been started."""
OF_A_START = 9

SPARE = "COLDFORK_SPARE"
"""A variable of a server, by which what its imports have left is found. In the process of a script that one
stands in its place by which the script is found.
"""
SPARE_ROOM = 96
"""So long its value is at least."""
PRESENT = 1
"""The version of all this; who speaks another is not understood."""
CIRCUMSTANCES_READ = 6
"""The descriptor by which a supervisor reads the circumstances of its caller."""

LISTENING = 3
"""The keeper's descriptor of the socket that clients connect to, made by who starts the keeper."""
KEEPER, TERMS = 6, 7
"""A server's: the socket to the keeper, whose end means that it is wanted no more, and what it is to do."""
ROOM = 1024
"""So many bytes a server is started with in which a script's command line is shown."""

# --- where the keeper is ---

_INSTALLATION = f"{crc32(os.fsencode(ROOT)):08x}"
"""Every installation of coldfork has a keeper of its own: another may be of another version."""
SOCKET_FILE = f"{_INSTALLATION}.sock"
LOCK_FILE = f"{_INSTALLATION}.lock"
LOG_FILE = f"{_INSTALLATION}.log"
_OURS_ALONE = 0o700
_OF_OTHERS = 0o077


def folder(environment: Mapping[str, str] = os.environ) -> str:
    """The folder, made if need be; `UsageError` if anybody else could get at what lies in it."""
    runtime = environment.get("XDG_RUNTIME_DIR")
    base = runtime if runtime and os.path.isdir(runtime) else None
    path = os.path.join(base, "coldfork") if base else _of_temporary_files()
    try:
        os.mkdir(path, _OURS_ALONE)
    except FileExistsError:
        pass
    except OSError as error:
        raise UsageError(f"cannot make {path}, the folder of warm servers: {error.strerror}") from None
    _require_ours(path)
    return path


def _of_temporary_files() -> str:
    from tempfile import gettempdir

    return os.path.join(gettempdir(), f"coldfork-{os.getuid()}")


def _require_ours(path: str) -> None:
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise UsageError(f"{path} belongs to somebody else; warm servers need a folder of yours there")
    if found.st_mode & _OF_OTHERS:
        raise UsageError(
            f"{path} is open to others (chmod 700 {path} closes it); warm servers are yours alone"
        )


def connect(path: str) -> socket.socket | None:
    """A connection to the keeper of this user; None where none listens."""
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
    """Refuse to speak with a process of another user."""
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    if user != os.geteuid():
        raise PermissionError(f"the process at the other end belongs to user {user}")


# --- which server a script may come from ---


class Wanted:
    """A script that is to be started."""

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
        """The words behind the interpreter on its command line."""
        self.environment = environment
        self.cwd = cwd
        self.modules = modules
        """The modules that its server has imported."""


class Facts:
    """What decides which server a script may come from."""

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
        """The folder that the script has first on its path for imports."""

    @staticmethod
    def of(message: Mapping[str, Any]) -> Facts:
        """Those that a client sent."""
        return Facts(
            python=message["python"],
            modules=tuple(message["modules"]),
            environment=dict(message["environment"]),
            cwd=message["cwd"],
            folder=message["folder"],
        )

    @property
    def server_environment(self) -> dict[str, str]:
        """What a server for such scripts is started with."""
        return while_importing({n: value for n, value in self.environment.items() if n not in OURS})
