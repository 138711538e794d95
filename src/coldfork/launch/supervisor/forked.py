"""A supervisor that is no third interpreter: a fork of the process that is there for the script alone.

`coldfork exec` is such a process. It has one thread and has imported what a supervisor needs, which another
interpreter would have to do again.
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
    """Fork a supervisor that starts the script, with all three of our streams; see `client.start`."""
    ours, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
    terms = {"captured": False, "mask": list(map(int, mask)), "caller": os.getpid()}
    held: list[int] = []
    try:
        # Here, so that it is this process which says that it may open no more files.
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
    # All that is asked of it is what the class below that of `socket` can.
    return Supervised(pid, ours, mark)  # type: ignore[arg-type]


def _begin(plan: SupervisedRun, held: list[int]) -> NoReturn:
    """Be the supervisor, with these descriptors under the numbers that it knows them by."""
    try:
        pthread_sigmask(SIG_BLOCK, all_but())
        signal(SIGCONT, SIG_DFL)
        for number in map(int, os.listdir("/proc/self/fd")):
            # What is not for the programs that the caller starts is the caller's own.
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
        # The one by which the list was read.
        return False
