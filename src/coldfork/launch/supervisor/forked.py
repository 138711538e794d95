"""Run a supervisor without starting another interpreter: fork it from a process that serves only the script.

`coldfork exec` is such a process. It has one thread, and has already imported the modules that a supervisor
needs.
"""

from __future__ import annotations

import os
from _signal import SIG_BLOCK, SIG_DFL, SIGCONT, pthread_sigmask, signal
from _socket import AF_UNIX, SOCK_SEQPACKET, socketpair

from coldfork.launch.plumbing.streams import fill_closed_streams, lifted
from coldfork.launch.supervisor.client import Supervised
from coldfork.launch.supervisor.main import all_but, supervise
from coldfork.launch.supervisor.protocol import CONTROL, LOCK, SupervisedRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, NoReturn


def start(plan: Mapping[str, Any], mark: str, lock: int, mask: Iterable[int]) -> Supervised:
    """Fork a supervisor that starts the script on our three standard streams; see `client.start`."""
    ours, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
    terms = {"captured": False, "mask": list(map(int, mask)), "caller": os.getpid()}
    held: list[int] = []
    try:
        # Moved before the fork, so that this process can report a shortage of descriptors.
        held += [lifted(descriptor, LOCK + 1) for descriptor in (theirs.fileno(), lock)]
        pid = os.fork()
        if pid == 0:
            _begin(SupervisedRun({**plan, **terms}), held)
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
        for descriptor in held:
            os.close(descriptor)
    # Only methods of the base class `_socket.socket` are used.
    return Supervised(pid, ours, mark)  # type: ignore[arg-type]


def _begin(plan: SupervisedRun, held: list[int]) -> NoReturn:
    """Run the supervisor, with its two descriptors under the numbers that it expects."""
    try:
        pthread_sigmask(SIG_BLOCK, all_but())
        signal(SIGCONT, SIG_DFL)
        for number in map(int, os.listdir("/proc/self/fd")):
            # Close-on-exec descriptors are the caller's own; a started supervisor would not have inherited
            # them.
            if number not in held and _is_ours_alone(number):
                os.close(number)
        for descriptor, number in zip(held, (CONTROL, LOCK), strict=True):
            os.dup2(descriptor, number, inheritable=False)
            os.close(descriptor)
        fill_closed_streams()
        supervise(plan)
    finally:
        os._exit(1)


def _is_ours_alone(descriptor: int) -> bool:
    try:
        return not os.get_inheritable(descriptor)
    except OSError:
        # This was the descriptor used to read the list, which is closed already.
        return False
