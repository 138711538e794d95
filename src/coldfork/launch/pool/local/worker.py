"""A worker of a pool as the pool's process holds it: its socket, its process, and its end."""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress
from time import monotonic

from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.pool.errors import WorkerDiedError
from coldfork.launch.pool.transport import wire
from coldfork.launch.pool.transport.payloads import pack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from coldfork.launch.pool.local.channels import Channels
    from coldfork.launch.pool.local.outputs import OutputStream
    from coldfork.launch.pool.tasks import Task
    from coldfork.launch.pool.terms import Lease
    from coldfork.launch.server.zygote.processes import Popen


_ALL_PERMITS = 1 << 16
_TOO_LARGE = "what the task was given is large, and could not be put into a memory file"


class LocalWorker:
    """A worker that is a process of this machine."""

    def __init__(
        self,
        place: int,
        process: Popen,
        channels: Channels,
        output: OutputStream,
        lease: Lease | None,
    ) -> None:
        self.place = place
        self.device = None if lease is None else lease.device
        self.process = process
        self.pid: int = process.pid
        """Its number, once it is ready; before, that of the process above it."""
        self.output = output
        self.asked = monotonic()
        self.is_ready = False
        self.is_unfit = False
        """Whether it has said itself why it cannot begin."""
        self.finishing_since: float | None = None
        self.channels = channels
        self._gone = False
        self._lock = threading.Lock()

    def give(self, tasks: Sequence[Task]) -> bool:
        """Send it tasks, in one message; False if there is no room for that just now."""
        payload = tasks[0].payload
        try:
            payload.open()
        except OSError as error:
            # Its own place is where an error of a task belongs.
            tasks[0].payload = payload = pack((_fail, (error.errno, f"{error.strerror}: {_TOO_LARGE}"), {}))
        try:
            wire.send_tasks(self.channels.tasks, self.channels.permitting, tasks)
        except OSError:
            return False
        finally:
            if payload.kept:
                payload.close()
        return True

    def take_back(self, most: int | None = None) -> list[int]:
        """Take the permits of what it has not come to, so that it never will."""
        try:
            size = _ALL_PERMITS if most is None else most * wire.PERMIT.size
            permits = os.read(self.channels.permits_back, size)
        except OSError:
            return []
        return [number for (number,) in wire.PERMIT.iter_unpack(permits)]

    def clear(self) -> None:
        """Have it throw away what was taken back, which leaves no room for more."""
        with suppress(OSError):
            os.write(self.channels.permitting, wire.PERMIT.pack(wire.CLEAR))

    def kill(self) -> None:
        """End it and all that it has started."""
        with self._lock:
            if not self._gone:
                below = self.processes()
                kernel.signal_all(below or [self.process.pid], signal.SIGKILL)
                if below:
                    # It ends when they have, and finds what they have started meanwhile.
                    kernel.signal_all([self.process.pid], signal.SIGCONT)

    def processes(self) -> list[int]:
        """Its own and all that it has started."""
        return kernel.descendants(self.process.pid)

    def finish(self) -> None:
        """Let it end, for no more tasks come."""
        if self.finishing_since is None:
            self.finishing_since = monotonic()
            self.channels.permit_no_more()

    def leave(self) -> int:
        """See to what is left of it, now that it has ended; the status that it left."""
        with self._lock:
            # While nobody has waited for it, no other process can have its number.
            self._gone = True
            status = self.process.poll()
        self.output.drain()
        return -signal.SIGKILL if status is None else status

    def let_go(self) -> None:
        """Close what this process has of it."""
        self.channels.close()
        if self.process.finalizer is not None:
            self.process.finalizer()
        self.output.close()

    def died(self, status: int) -> WorkerDiedError:
        """What its task is told."""
        who = f"pid {self.pid}" if self.device is None else f"pid {self.pid}, {self.device}"
        ended = ended_by(status)
        errors = self.output.last_lines()
        said = f"the worker that ran the task ({who}) {ended}"
        if errors:
            said += f"; its last lines were:\n{errors}"
        name = kernel.signal_name(-status) if status < 0 else None
        return WorkerDiedError(said, self.pid, status, name, self.device, errors)


def _fail(number: int, text: str) -> NoReturn:
    """What a task does that could not be sent."""
    raise OSError(number, text)


def ended_by(status: int) -> str:
    """How a process ended, in words."""
    if status < 0:
        return f"was killed by {kernel.signal_name(-status)}"
    return f"ended with status {status}"
