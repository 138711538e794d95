"""Start the script's interpreter from its supervisor, with as few inherited descriptors as possible."""

from __future__ import annotations

import os
from _signal import SIG_DFL, SIG_SETMASK, SIGCHLD, pthread_sigmask, signal

from coldfork.launch.plumbing import spawn
from coldfork.launch.plumbing.linux.kernel import die_with_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from coldfork.launch.supervisor.protocol import SupervisedRun

CHANNEL_VARIABLE = "COLDFORK_CHANNEL"


def start(plan: SupervisedRun, outputs: list[int], channel: int, control: Callable[..., int]) -> int:
    """Start the interpreter; return its pid. `outputs` become its stdout and stderr; -1 means our own."""

    def prepare() -> None:
        if plan.entrance is not None:
            from coldfork.launch.supervisor.control_group import enter

            enter(plan.entrance)
        for stream, descriptor in enumerate(outputs, 1):
            if descriptor >= 0:
                os.dup2(descriptor, stream)
        os.set_inheritable(channel, True)
        if plan.cwd is not None:
            try:
                os.chdir(plan.cwd)
            except OSError as error:
                raise spawn.Refused("cwd", error.errno or 0) from None
        signal(SIGCHLD, SIG_DFL)
        pthread_sigmask(SIG_SETMASK, plan.mask)

    environment = {**plan.environment, CHANNEL_VARIABLE: str(channel)}
    return spawn.start(plan.program, plan.words, environment, prepare, lambda: die_with_parent(control))
