"""Fill or release the standard streams, and move descriptors to higher numbers, out of their way."""

from __future__ import annotations

import errno
import fcntl
import os

_LAST_STREAM = 2


def fill_closed_streams() -> None:
    """Keep our descriptors from becoming standard streams, which stay closed for the script."""
    while (descriptor := os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)) <= _LAST_STREAM:
        pass
    os.close(descriptor)


def let_go_of_streams() -> None:
    """Close the script's streams: a reader of its output must see its end when it ends."""
    nowhere = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for stream in range(_LAST_STREAM + 1):
        os.dup2(nowhere, stream)
    os.close(nowhere)


def close_above(last: int) -> None:
    """Close every descriptor above the last of ours: what a caller left open is not for the script."""
    try:
        most = os.sysconf("SC_OPEN_MAX")
    except (OSError, ValueError):
        most = 65_536
    os.closerange(last + 1, most)


def lifted(descriptor: int, lowest: int) -> int:
    """Duplicate a descriptor to a number not below this one."""
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # This process may not have a number as high as that: to the caller, that is the same error.
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE)) from None


def is_open(descriptor: int) -> bool:
    """Return whether a number is that of an open descriptor."""
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
