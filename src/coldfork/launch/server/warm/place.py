"""Where the keeper's socket lies: in a folder that is the user's alone."""

from __future__ import annotations

import os
import socket
import stat
import struct
from binascii import crc32

from coldfork.model.errors import UsageError
from coldfork.observe.installation import ROOT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_INSTALLATION = f"{crc32(os.fsencode(ROOT)):08x}"
"""Every installation of coldfork has a keeper of its own: another may be of another version."""
NAME = f"{_INSTALLATION}.sock"
LOCK = f"{_INSTALLATION}.lock"
LOG = f"{_INSTALLATION}.log"
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
        made.connect(os.path.join(path, NAME))
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
