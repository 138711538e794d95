"""End a program if the parent that waits for it is killed, without changing anything in the program.

The kernel can send a signal when a parent dies, but the program could see that setting. So a helper process
waits for our end. It holds a pidfd of the program, and so can end no other process by mistake.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress

from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.plumbing.loop import readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_NUMBER = 16
"""The number of bytes in which a process's number is sent."""
_DONE = b"."


class LastWill:
    """A helper process that ends the program after our own end; it is made before the program is started."""

    def __init__(self, control: Callable[..., int]) -> None:
        self._control = control
        self._asking, asked = os.pipe()
        answer, self._answering = os.pipe()
        us = os.pidfd_open(os.getpid())
        self._pid = os.fork()
        if self._pid == 0:
            os.close(asked)
            os.close(answer)
            _wait(us, self._asking, self._answering)
        # A pidfd, because if SIGCHLD is ignored, the helper's number may be reused when it has ended with the
        # program.
        self._will = os.pidfd_open(self._pid)
        for descriptor in (us, self._asking, self._answering):
            os.close(descriptor)
        self._asked, self._answer = asked, answer

    def take_over(self) -> None:
        """Arm the helper; called in the program's process before its exec. From now on it ends the program
        after us.
        """
        os.write(self._asked, str(os.getpid()).encode("ascii").ljust(_NUMBER))
        if os.read(self._answer, len(_DONE)) == _DONE:
            kernel.hear_of_parent(self._control, 0)

    def begun(self) -> None:
        """Record, in our own process, that the program has started and that the helper expects no more
        messages.
        """
        for descriptor in (self._asked, self._answer):
            os.close(descriptor)

    def dismiss(self) -> None:
        """End the helper after the program has ended."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._will, signal.SIGKILL)
        os.close(self._will)
        kernel.reap(self._pid)


def _wait(us: int, asking: int, answering: int) -> NoReturn:
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            # An open stream here would keep a reader of our output from seeing its end when we end.
            os.dup2(nowhere, stream)
        number = os.read(asking, _NUMBER)
        if number:
            program = os.pidfd_open(int(number))
            os.write(answering, _DONE)
            os.close(answering)
            if us in readable([us, program], None):
                signal.pidfd_send_signal(program, signal.SIGKILL)
    finally:
        os._exit(0)


def supported() -> bool:
    """Return whether this system supports a last will: Linux, with a kernel that has pidfds."""
    return hasattr(signal, "pidfd_send_signal") and kernel.has_process_descriptors()
