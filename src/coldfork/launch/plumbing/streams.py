"""Standard streams that are filled or let go of, and descriptors under higher numbers, out of their way."""

from __future__ import annotations

import errno
import fcntl
import os

_LAST_STREAM = 2


def fill_closed_streams() -> None:
    """Keep what we open from becoming a stream; the script finds them closed, as it would have."""
    while (descriptor := os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)) <= _LAST_STREAM:
        pass
    os.close(descriptor)


def let_go_of_streams() -> None:
    """Hold no stream of the script's open: whoever reads what it prints must see its end when it ends."""
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
    """The same descriptor once more, under a number that is not below this one."""
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # This process may have no number as high as that: to whoever waits, that is the same trouble.
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE)) from None


def is_open(descriptor: int) -> bool:
    """Whether a number is that of an open descriptor."""
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
