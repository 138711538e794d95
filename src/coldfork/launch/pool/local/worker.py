"""Workers that are processes of this machine: started, given their tasks, and seen to their ends."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack, suppress
from io import FileIO
from time import monotonic
from typing import Any

from coldfork.launch.plumbing import channel
from coldfork.launch.plumbing.linux import kernel
from coldfork.launch.pool import wire
from coldfork.launch.pool.assignments import Worker
from coldfork.launch.pool.errors import WorkerDiedError
from coldfork.launch.pool.local.main_module import KEYS
from coldfork.launch.pool.local.outputs import OutputStream
from coldfork.launch.pool.local.service import Descriptor, Initializer, serve
from coldfork.launch.server.zygote.processes import Popen, ZygoteProcess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from socket import socket
    from typing import NoReturn

    from coldfork.launch.devices.choice import Lease
    from coldfork.launch.pool.task import Task
    from coldfork.launch.pool.terms import PoolTerms
    from coldfork.launch.server.zygote.handle import Zygote
    from coldfork.launch.server.zygote.requests import Started

_ALL_PERMITS = 1 << 16
_TOO_LARGE = "what the task was given is large, and could not be put into a memory file"


class LocalWorker(Worker):
    """A worker's process, and what connects the pool with it: a socket for tasks, pipes for the rest."""

    def __init__(self, place: int, sink: Callable[[bytes], None]) -> None:
        """`sink` takes what it writes."""
        super().__init__(place)
        self.process: Popen
        """The process above it, once that was started, whose end is its own."""
        self.is_ready = False
        self.is_unfit = False
        """Whether it has said itself why it cannot begin."""
        self.status: int | None = None
        """As what it has ended, where the process above it could tell."""
        self._gone = False
        with ExitStack() as opened:
            tasks = channel.pair()
            self.tasks: socket = tasks[0]
            self._their_tasks = tasks[1]
            opened.callback(self._their_tasks.close)
            opened.callback(self.tasks.close)
            self._their_permits, permitting = _pipe(opened)
            # Not a number, which could be another file's by the time that somebody writes to it.
            self._permitting = FileIO(permitting, "wb")
            self._permits_back = wire.reopened(self._their_permits)
            opened.callback(os.close, self._permits_back)
            answers = _pipe(opened)
            self.answers: int = answers[0]
            self._answering = answers[1]
            os.set_blocking(self.answers, False)
            self.output: OutputStream = OutputStream(sink)
            opened.pop_all()
        self.incoming: wire.Answers = wire.Answers(self.answers)

    def start(self, zygote: Zygote, terms: PoolTerms, lease: Lease | None) -> None:
        """Have a server fork its process."""
        initializer = None
        if terms.initializer is not None:
            initializer = Initializer(terms.initializer, terms.initargs, main_by_value=not terms.main)
        streams = (1, 2) if terms.log_dir is not None else (2,)
        given = {
            "tasks": Descriptor(self._their_tasks.fileno()),
            "permits": Descriptor(self._their_permits),
            "answers": Descriptor(self._answering),
            "outputs": {number: Descriptor(self.output.writing) for number in streams},
            "main": dict(terms.main),
            "initializer": initializer,
            "caller": os.getpid(),
        }
        process = ZygoteProcess(target=serve, kwargs=given, name=f"coldfork-worker-{self.place}")
        process.daemon = False
        try:
            environment = _Environment(zygote, {} if lease is None else lease.variables)
            self.process = WorkerPopen(process, environment)  # type: ignore[arg-type]
        except BaseException:
            self._close()
            raise
        finally:
            # The worker has its ends by now, or never will.
            self._their_tasks.close()
            os.close(self._their_permits)
            os.close(self._answering)
            os.close(self.output.writing)
        self.device: str | None = None if lease is None else lease.device
        # Until it is ready, that of the process above it.
        self.pid: int = self.process.pid
        self.asked: float = monotonic()

    def give(self, tasks: Sequence[Task]) -> bool:
        """Send it tasks, in one message; False if there is no room for that just now."""
        payload = tasks[0].payload
        try:
            payload.open()
        except OSError as error:
            # Its own place is where an error of a task belongs.
            said = f"{error.strerror}: {_TOO_LARGE}"
            tasks[0].payload = payload = wire.pack((_fail, (error.errno, said), {}))
        try:
            wire.send_tasks(self.tasks, self._permitting, tasks)
        except (OSError, ValueError):
            return False
        finally:
            if payload.kept:
                payload.close()
        return True

    def awaits(self, number: int, after: int) -> bool:
        """Whether this is the task that it answers next, after so many others."""
        return after < len(self.given) and self.given[after].number == number

    def handing(self, task: Task) -> Sequence[tuple[Any, ...]]:
        """A message and a permit, where neither needs a file."""
        if task.payload.is_large:
            return ()
        return (
            (self.tasks.send, wire.task_message(task), wire.AT_ONCE),
            (self._permitting.write, wire.PERMIT.pack(task.number)),
        )

    def whole(self, kind: int, number: int, data: bytes) -> tuple[bytes, int] | None:
        """The data of an answer and its memory file, also where it is large; None where it is none."""
        return wire.large(self.tasks, number) if kind & wire.LARGE else (data, -1)

    def take_back(self, most: int | None = None) -> list[int]:
        """Take the permits of what it has not come to, so that it never will."""
        try:
            size = _ALL_PERMITS if most is None else most * wire.PERMIT.size
            permits = os.read(self._permits_back, size)
        except OSError:
            return []
        numbers = [number for (number,) in wire.PERMIT.iter_unpack(permits)]
        if wire.END in numbers:
            numbers.remove(wire.END)
            self._permit(wire.END)
        return numbers

    def clear(self) -> None:
        """Have it throw away what was taken back, which leaves no room for more."""
        self._permit(wire.CLEAR)

    def _permit(self, number: int) -> None:
        # It may have ended and be closed.
        with suppress(OSError, ValueError):
            self._permitting.write(wire.PERMIT.pack(number))

    def kill(self) -> None:
        """End it and all that it has started."""
        if not self._gone:
            above = [self.process.pid]
            below = self.processes()
            kernel.signal_all(below or above, signal.SIGKILL)
            if below:
                # It ends when they have, and finds what they have started meanwhile.
                kernel.signal_all(above, signal.SIGCONT)

    def processes(self) -> list[int]:
        """Its own and all that it has started."""
        return kernel.descendants(self.process.pid)

    def finish(self) -> None:
        """Let it end when it has done what it has permits for."""
        if self.finishing_since is None:
            self.finishing_since: float | None = monotonic()
            # Said, and not by closing a pipe that a child which the program has forked holds open.
            self._permit(wire.END)

    def leave(self) -> int | None:
        """See to what is left of it, now that it has ended; the status that it left, where that is known."""
        # While nobody has waited for it, no other process can have its number.
        self._gone = True
        status = self.process.poll()
        self.output.drain()
        # A program that ignores SIGCHLD, or waits for every child, has taken the status.
        return self.status if status is None else status

    def let_go(self) -> None:
        """Close what this process has of it."""
        if self.process.finalizer is not None:
            self.process.finalizer()
        self._close()

    def _close(self) -> None:
        self._permitting.close()
        self.tasks.close()
        os.close(self._permits_back)
        os.close(self.answers)
        self.output.close()

    def ended_by(self, status: int | None) -> str:
        """How it ended, in words."""
        if self.incoming.is_garbled:
            return "was killed, because something that it ran has written to the pipe of its answers"
        return _ended_by(status)

    def died(self, status: int | None) -> WorkerDiedError:
        """What its task is told."""
        who = f"pid {self.pid}" if self.device is None else f"pid {self.pid}, {self.device}"
        errors = self.output.last_lines()
        said = f"the worker that ran the task ({who}) {self.ended_by(status)}"
        if errors:
            said += f"; its last lines were:\n{errors}"
        name = kernel.signal_name(-status) if status is not None and status < 0 else None
        return WorkerDiedError(said, self.pid, status, name, self.device, errors)


def _pipe(opened: ExitStack) -> tuple[int, int]:
    reading, writing = os.pipe2(os.O_CLOEXEC)
    opened.callback(os.close, reading)
    opened.callback(os.close, writing)
    return reading, writing


def _fail(number: int, text: str) -> NoReturn:
    """What a task does that could not be sent."""
    raise OSError(number, text)


def _ended_by(status: int | None) -> str:
    if status is None:
        return "has ended; how is not known, because this program waits for children that are not its own"
    if status < 0:
        return f"was killed by {kernel.signal_name(-status)}"
    return f"ended with status {status}"


class WorkerPopen(Popen):
    """A worker's process, which imports the main module only when it is asked for something of it."""

    # That would wait for a thread which writes to them and is not read. No process is forked here that could
    # write what they hold once more.
    flushes = False

    def _preparation(self, process_obj: Any) -> dict[str, Any]:
        return {name: value for name, value in super()._preparation(process_obj).items() if name not in KEYS}


class _Environment:
    """A zygote, as far as a process sees it, that sets these variables beside those of the caller."""

    def __init__(self, zygote: Zygote, variables: Mapping[str, str]) -> None:
        self._zygote = zygote
        self._variables = variables

    def start_process(self, contents: Sequence[bytes | memoryview], descriptors: Sequence[int]) -> Started:
        """Have the server fork a worker."""
        return self._zygote.start_process(contents, descriptors, self._variables)
