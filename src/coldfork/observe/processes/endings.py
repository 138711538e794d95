"""End this process as another one has ended: with its exit status, or by the signal that killed it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def end_as(status: int) -> NoReturn:
    """End at once with the status that `wait` returned for the other."""
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else die_of(-code))


def die_of(number: int) -> int:
    """Die from this signal; if that fails, return an equivalent exit status."""
    with suppress(OSError, ValueError, ImportError):
        # The other has left its core file, and a second one would only be in the way.
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    # Only a process that cannot die of it, the first of a container, comes here.
    return 128 + number
