"""The process between a server and a script: a supervisor that is forked instead of started.

With the descriptors that the caller sent, it does the same as a supervisor that the caller starts itself.
"""

from __future__ import annotations

import os
import pickle
import socket
from _signal import SIG_BLOCK, pthread_sigmask

from coldfork.launch.plumbing import channel
from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.plumbing.streams import lifted
from coldfork.launch.server.warm import interpreter, protocol
from coldfork.launch.server.warm.script import Script
from coldfork.launch.supervisor.main import Supervisor, all_but
from coldfork.launch.supervisor.protocol import CONTROL, LOCK, MARK, Caller, read_plan
from coldfork.launch.supervisor.protocol import PLAN as PLAN_READ

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldfork.launch.server.circumstances import Circumstances
    from coldfork.launch.server.warm.script import Kit

_ABOVE = 20
"""Higher than every descriptor number that a supervisor uses."""


class _Born(BaseException):
    """Raised in the script's own process to leave the supervisor's code."""


def supervise(message: dict[str, Any], descriptors: list[int], kit: Kit) -> Script:
    """Supervise the requested script, and end this process; return only in the script's own process."""
    born: list[Script] = []
    try:
        pthread_sigmask(SIG_BLOCK, all_but())
        os.setsid()
        caller, reply, handed_on = _arrange(descriptors, message["numbers"])
        with open(protocol.CIRCUMSTANCES_READ, "rb") as stream:
            circumstances: Circumstances = pickle.load(stream)
        taken = kit.descriptors & handed_on.keys()
        _agree(
            reply, message["mark"], circumstances, kit, [f"descriptor {number}" for number in sorted(taken)]
        )
        plan = read_plan()
        control = kernel.process_control()
        kernel.adopt_orphans(control)

        def start(outputs: list[int], channel: int) -> int:
            us = os.getpid()
            pid = os.fork()
            if pid == 0:
                kernel.die_with_parent(control)
                if os.getppid() != us:
                    os._exit(1)
                if plan.entrance is not None:
                    from coldfork.launch.supervisor.control_group import enter

                    enter(plan.entrance)
                born.append(Script(plan, circumstances, outputs, channel, handed_on, kit))
                raise _Born
            return pid

        # A caller at a terminal gets a signal from the kernel for each message, including the last.
        Supervisor(plan, Caller(), start, caller).run()
    except _Born:
        return born[0]
    except BaseException:
        os._exit(1)
    os._exit(0)


def _arrange(descriptors: list[int], numbers: list[int]) -> tuple[int, int, dict[int, int]]:
    """Move the received descriptors to the numbers that a supervisor uses for them.

    Return the descriptor of the caller's process, that of the connection to it, and those that the caller
    passes on to programs, by the number that each should have in the script.
    """
    moved = []
    for descriptor in descriptors:
        moved.append(lifted(descriptor, _ABOVE))
        os.close(descriptor)
    *given, reply = moved
    for number, place in (
        (CONTROL, protocol.CONTROL),
        (PLAN_READ, protocol.PLAN),
        (LOCK, protocol.LOCK),
        (protocol.CIRCUMSTANCES_READ, protocol.CIRCUMSTANCES),
        (0, protocol.STDIN),
        (1, protocol.STDOUT),
        (2, protocol.STDERR),
    ):
        os.dup2(given[place], number, inheritable=number <= 2)
        os.close(given[place])
    return given[protocol.CALLER], reply, dict(zip(numbers, given[protocol.FACTS :], strict=True))


def _agree(reply: int, mark: str, circumstances: Circumstances, kit: Kit, troubles: list[str]) -> None:
    """Take over the caller's circumstances, and begin if it agrees; else end before anything has run."""
    with socket.socket(fileno=reply) as client:
        circumstances.group = os.getpgrp()
        troubles = [*troubles, *circumstances.take_over((MARK.encode(), mark.encode()))]
        interpreter.mark(kit.place, "COLDFORK_SUPERVISES", mark)
        interpreter.entitle(["coldfork.launch.supervisor.main", mark])
        if troubles:
            channel.send(client, {"is": "cold", "why": f"it would not have {'; '.join(troubles)}"})
            os._exit(0)
        channel.send(client, {"is": "ready", "pid": os.getpid()})
        if channel.receive(client) is None:
            os._exit(0)
