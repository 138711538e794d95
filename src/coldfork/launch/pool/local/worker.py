"""Start workers as processes of this machine, give them tasks, and handle their ends."""

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
_TOO_LARGE = "the task's arguments are large, and could not be put into a memory file"


class LocalWorker(Worker):
    """A worker's process and its connections to the pool: a socket for tasks, and pipes."""

    def __init__(self, place: int, sink: Callable[[bytes], None]) -> None:
        """`sink` is called with the worker's output."""
        super().__init__(place)
        self.process: Popen
        """The reaper above the worker, once started; it ends when the worker does."""
        self.is_ready = False
        self.is_unfit = False
        """Whether the worker itself has reported why it cannot begin."""
        self.status: int | None = None
        """The worker's wait status, if its reaper could report it."""
        self._gone = False
        with ExitStack() as opened:
            tasks = channel.pair()
            self.tasks: socket = tasks[0]
            self._their_tasks = tasks[1]
            opened.callback(self._their_tasks.close)
            opened.callback(self.tasks.close)
            self._their_permits, permitting = _pipe(opened)
            # A file object: a bare number could belong to another file by the time of a write.
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
        """Have a server fork the worker's process."""
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
            # The worker now has its own copies of these ends, or needs none because its start failed.
            self._their_tasks.close()
            os.close(self._their_permits)
            os.close(self._answering)
            os.close(self.output.writing)
        self.device: str | None = None if lease is None else lease.device
        # The reaper's pid, until the worker reports its own.
        self.pid: int = self.process.pid
        self.asked: float = monotonic()

    def give(self, tasks: Sequence[Task]) -> bool:
        """Send the worker tasks in one message; return False if there is no room just now."""
        payload = tasks[0].payload
        try:
            payload.open()
        except OSError as error:
            # Pack only the error's text: its traceback would keep other objects alive.
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
        """Return whether, after `after` other answers, the worker's next answer is for this task."""
        return after < len(self.given) and self.given[after].number == number

    def handing(self, task: Task) -> Sequence[tuple[Any, ...]]:
        """Return calls that send a task's message and its permit; none if the task needs a memory file."""
        if task.payload.is_large:
            return ()
        return (
            (self.tasks.send, wire.task_message(task), wire.AT_ONCE),
            (self._permitting.write, wire.PERMIT.pack(task.number)),
        )

    def whole(self, kind: int, number: int, data: bytes) -> tuple[bytes, int] | None:
        """Return an answer's data and its memory file; None if the announced answer has not come."""
        return wire.large(self.tasks, number) if kind & wire.LARGE else (data, -1)

    def take_back(self, most: int | None = None) -> list[int]:
        """Remove the permits of tasks that the worker has not reached, so that it never begins them."""
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
        """Have the worker discard the tasks that were taken back, if they leave no room for others."""
        self._permit(wire.CLEAR)

    def _permit(self, number: int) -> None:
        # The worker may have ended, or the pipe may be closed.
        with suppress(OSError, ValueError):
            self._permitting.write(wire.PERMIT.pack(number))

    def kill(self) -> None:
        """Kill the worker and every process that it has started."""
        if not self._gone:
            above = [self.process.pid]
            below = self.processes()
            kernel.signal_all(below or above, signal.SIGKILL)
            if below:
                # A stopped reaper must be continued: it ends after the others, and kills processes started
                # meanwhile.
                kernel.signal_all(above, signal.SIGCONT)

    def processes(self) -> list[int]:
        """Return the worker's process and all processes that it has started."""
        return kernel.descendants(self.process.pid)

    def finish(self) -> None:
        """Let the worker end after the tasks that it has permits for."""
        if self.finishing_since is None:
            self.finishing_since: float | None = monotonic()
            # A permit announces the end. Closing the pipe may not suffice, because a forked child of the
            # program may hold it open.
            self._permit(wire.END)

    def leave(self) -> int | None:
        """Clean up after the worker's end; return its exit status, or None if that is unknown."""
        # After `poll` has waited for the process, its number may be reused.
        self._gone = True
        status = self.process.poll()
        self.output.drain()
        # A program that ignores SIGCHLD, or waits for every child, leaves no status to `poll`.
        return self.status if status is None else status

    def let_go(self) -> None:
        """Close this process's ends of the worker's connections."""
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
        """Return a phrase that says how the worker ended."""
        if self.incoming.is_garbled:
            return "was killed because the code that it ran wrote to the pipe for its answers"
        return _ended_by(status)

    def died(self, status: int | None) -> WorkerDiedError:
        """Make the error for the task that the worker was running."""
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
    """Raise this error as the reason why a task could not be sent."""
    raise OSError(number, text)


def _ended_by(status: int | None) -> str:
    if status is None:
        return (
            "has ended with an unknown status, because this program waits for children that it did not start"
        )
    if status < 0:
        return f"was killed by {kernel.signal_name(-status)}"
    return f"ended with status {status}"


class WorkerPopen(Popen):
    """A worker's process, which imports the caller's main module only on demand."""

    # No flush: it could wait for a stream that nobody reads, and no process forked here writes the buffers a
    # second time.
    flushes = False

    def _preparation(self, process_obj: Any) -> dict[str, Any]:
        return {name: value for name, value in super()._preparation(process_obj).items() if name not in KEYS}


class _Environment:
    """A zygote that adds these variables to the environment of the workers that it starts."""

    def __init__(self, zygote: Zygote, variables: Mapping[str, str]) -> None:
        self._zygote = zygote
        self._variables = variables

    def start_process(self, contents: Sequence[bytes | memoryview], descriptors: Sequence[int]) -> Started:
        """Have the server fork a worker."""
        return self._zygote.start_process(contents, descriptors, self._variables)
