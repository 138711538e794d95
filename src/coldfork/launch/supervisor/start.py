"""Starts the script's interpreter from its supervisor, which holds open as little of it as can be."""

from __future__ import annotations

import os
from _signal import SIG_DFL, SIG_SETMASK, SIGCHLD, SIGPIPE, SIGXFSZ, pthread_sigmask, signal

from coldfork.launch.supervisor.kernel import die_with_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from coldfork.launch.supervisor.protocol import SupervisedRun

CHANNEL_VARIABLE = "COLDFORK_CHANNEL"


class Refused(Exception):
    """The system would not start the script."""

    def __init__(self, what: str, errno: int) -> None:
        super().__init__(what, errno)
        self.what = what
        """`program` or `cwd`."""
        self.errno = errno


def start(plan: SupervisedRun, outputs: list[int], channel: int, control: Callable[..., int]) -> int:
    """Start it, and return its pid. `outputs` are its standard output and error, -1 for ours."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    us = os.getpid()
    child = os.fork()
    if child == 0:
        _become(plan, outputs, channel, control, writing, us)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        said = answer.read()
    if said:
        os.waitpid(child, 0)
        what, _, number = said.decode("ascii").partition(" ")
        raise Refused(what, int(number))
    return child


def _become(
    plan: SupervisedRun,
    outputs: list[int],
    channel: int,
    control: Callable[..., int],
    answer: int,
    parent: int,
) -> NoReturn:
    stage = "program"
    try:
        die_with_parent(control)
        if os.getppid() != parent:
            os._exit(1)
        if plan.entrance is not None:
            from coldfork.launch.caps.control_group import enter

            enter(plan.entrance)
        for stream, descriptor in enumerate(outputs, 1):
            if descriptor >= 0:
                os.dup2(descriptor, stream)
        os.set_inheritable(channel, True)
        environment = {**plan.environment, CHANNEL_VARIABLE: str(channel)}
        if plan.cwd is not None:
            stage = "cwd"
            os.chdir(plan.cwd)
            stage = "program"
        # Python ignores the first two, and a program that is not Python would inherit that.
        for number in (SIGPIPE, SIGXFSZ, SIGCHLD):
            signal(number, SIG_DFL)
        pthread_sigmask(SIG_SETMASK, plan.mask)
        os.execve(plan.program, plan.words, environment)
    except OSError as error:
        os.write(answer, f"{stage} {error.errno}".encode("ascii"))
    finally:
        os._exit(127)


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
