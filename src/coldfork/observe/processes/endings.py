"""End this process in the same way as another one: with its exit status, or by the same signal."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


def end_as(status: int) -> NoReturn:
    """End this process at once in the same way as another process, whose status `wait` returned."""
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else die_of(-code))


def die_of(number: int) -> int:
    """Die from this signal; if that fails, return an equivalent exit status."""
    with suppress(OSError, ValueError, ImportError):
        # The other process has left a core file, which a second core file might replace.
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
    os.kill(os.getpid(), number)
    # Reached only if the signal cannot kill this process, for example the first one in a container.
    return 128 + number
