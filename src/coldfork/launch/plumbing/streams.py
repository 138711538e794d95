"""Fill or release the standard streams, and move other descriptors to higher numbers, out of their way."""

from __future__ import annotations

import errno
import fcntl
import os

_LAST_STREAM = 2


def fill_closed_streams() -> None:
    """Open placeholders for closed standard streams, so that our own descriptors do not get their numbers."""
    while (descriptor := os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)) <= _LAST_STREAM:
        pass
    os.close(descriptor)


def let_go_of_streams() -> None:
    """Release the script's streams, so that a reader of its output sees the end when the script ends."""
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for stream in range(_LAST_STREAM + 1):
        os.dup2(nowhere, stream)
    os.close(nowhere)


def close_above(last: int) -> None:
    """Close every descriptor above this one: a script must not inherit files that its caller left open."""
    try:
        most = os.sysconf("SC_OPEN_MAX")
    except (OSError, ValueError):
        most = 65_536
    os.closerange(last + 1, most)


def lifted(descriptor: int, lowest: int) -> int:
    """Duplicate a descriptor to a number that is at least `lowest`."""
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # The lowest allowed number is above this process's limit; callers handle that as too many open files.
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE)) from None


def is_open(descriptor: int) -> bool:
    """Return whether this number is an open descriptor."""
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
