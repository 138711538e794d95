"""Descriptors under higher numbers: out of the way of those that a new process is to have."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import ExitStack, contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@contextmanager
def lifted(wanted: Mapping[int, int]) -> Iterator[dict[int, int]]:
    """Copies of ours, by the numbers that a new process is to have, for as long as it is started."""
    above = max(wanted) + 1
    with ExitStack() as opened:
        copies = {}
        for number, descriptor in wanted.items():
            copies[number] = duplicate(descriptor, above)
            opened.callback(os.close, copies[number])
        yield copies


def duplicate(descriptor: int, lowest: int) -> int:
    """The same descriptor once more, under a number that is not below this one."""
    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, lowest)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        # This process may have no number as high as that: to whoever waits, that is the same trouble.
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE)) from None
