"""Run a worker: prepare it once, then do one task after another until no more come."""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import socket
import sys
import traceback
from collections import deque
from functools import partial
from multiprocessing import reduction
from time import perf_counter

from coldfork.launch.pool import wire
from coldfork.launch.pool.local.main_module import await_main
from coldfork.launch.pool.local.reaper import stay_above
from coldfork.launch.pool.payload import Payload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


_AWAKE_SECONDS = 0.0002
"""How long a worker polls for its next task before it sleeps, if there is more than one processor."""


class Descriptor:
    """A descriptor that travels to a worker together with the worker's process object."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __reduce__(self) -> Any:
        return _arrived, (reduction.DupFd(self.number),)


def _arrived(duplicate: Any) -> Descriptor:
    return Descriptor(duplicate.detach())


class Initializer:
    """The initializer and its arguments, which a worker unpickles once it can import its main module.

    They are pickled together with the process, so they may contain objects such as queues and locks, which
    can only be passed to a new process.
    """

    def __init__(
        self, function: Callable[..., object], arguments: tuple[object, ...], *, main_by_value: bool
    ) -> None:
        self._call = (function, arguments)
        self._main_by_value = main_by_value

    def __reduce__(self) -> Any:
        return partial, (_initialize, self._pickled())

    def _pickled(self) -> bytes:
        if self._main_by_value:
            return wire.by_value(self._call)
        try:
            return bytes(reduction.ForkingPickler.dumps(self._call))
        except (pickle.PicklingError, AttributeError):
            return wire.by_reference(self._call)


def _initialize(content: bytes) -> None:
    function, arguments = pickle.loads(content)
    function(*arguments)


def serve(
    *,
    tasks: Descriptor,
    permits: Descriptor,
    answers: Descriptor,
    outputs: dict[int, Descriptor],
    main: dict[str, Any],
    initializer: Any,
    caller: int,
) -> None:
    """Do tasks until the pool says that no more will come.

    `permits` and `answers` are pipes; `outputs` maps numbers of standard streams to their replacements.
    `main` says how to import the main module, and `initializer` is an `Initializer` or None. `caller` is the
    pool's process; the worker ends if it does.
    """
    # First of all, so that the pool hears of any later failure.
    _take_outputs(outputs)
    stay_above(caller, answers.number, permits.number)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    await_main(main)
    with socket.socket(fileno=tasks.number) as source:
        desk = Desk(source, permits.number, answers.number)
        if _is_ready(initializer, desk):
            _work(desk)


class Desk:
    """The connection through which a worker gets its tasks and returns its answers."""

    def __init__(self, tasks: socket.socket, permits: int, answers: int) -> None:
        self._tasks = tasks
        self._permits = permits
        self._eager = wire.reopened(permits)
        self._awake_seconds = _AWAKE_SECONDS if len(os.sched_getaffinity(0)) > 1 else 0.0
        self._answers = answers
        self._waiting: deque[tuple[int, memoryview, int]] = deque()

    def next(self) -> tuple[int, memoryview, int] | None:
        """Return the next task's number, data and memory file; None if no more will come."""
        permit = self._permit()
        if not permit:
            return None
        (wanted,) = wire.PERMIT.unpack(permit)
        if wanted == wire.END:
            return None
        if wanted == wire.CLEAR:
            self._clear()
            return self.next()
        while True:
            if not self._waiting:
                message = wire.receive(self._tasks)
                if message is None:
                    return None
                content, memory = message
                self._waiting.extend((number, data, memory) for number, data in wire.tasks_in(content))
            task = self._waiting.popleft()
            if task[0] == wanted:
                return task
            # The pool has taken this task back.
            _let_go(task[2])

    def _permit(self) -> bytes:
        """Return the next permit; empty if no more will come."""
        # Poll for a while before sleeping: waking up takes longer than a caller takes to send its next task.
        until = perf_counter() + self._awake_seconds
        while True:
            try:
                return os.read(self._eager, wire.PERMIT.size)
            except BlockingIOError:
                if perf_counter() >= until:
                    return os.read(self._permits, wire.PERMIT.size)

    def _clear(self) -> None:
        """Discard the tasks that the pool has taken back."""
        for _, _, memory in self._waiting:
            _let_go(memory)
        self._waiting.clear()
        try:
            while message := wire.receive(self._tasks, socket.MSG_DONTWAIT):
                _let_go(message[1])
        except BlockingIOError:
            pass
        self.answer(wire.CLEARED, 0, Payload(b""))

    def answer(self, kind: int, number: int, payload: Payload, seconds: float = 0.0) -> None:
        """Report how a task ended, or the worker's own readiness or failure."""
        wire.answer(self._answers, self._tasks, kind, number, payload, seconds)


def _let_go(memory: int) -> None:
    if memory >= 0:
        os.close(memory)


def _take_outputs(outputs: dict[int, Descriptor]) -> None:
    for number, descriptor in outputs.items():
        os.dup2(descriptor.number, number)
        os.close(descriptor.number)
    for stream in (sys.stdout, sys.stderr):
        # Write each line at once: after a crash, the last lines matter most.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True)
    try:
        faulthandler.enable(file=2, all_threads=False)
    except (OSError, RuntimeError, ValueError):
        # There is no standard error to which the traceback could be written.
        pass


def _is_ready(initializer: Any, desk: Desk) -> bool:
    try:
        if initializer is not None:
            initializer()
    except BaseException as error:
        text = "".join(traceback.format_exception(error)).encode("utf-8", "backslashreplace")
        desk.answer(wire.UNFIT, 0, Payload(text[-wire.LONGEST_TEXT :]))
        return False
    desk.answer(wire.READY, os.getpid(), Payload(b""))
    return True


def _work(desk: Desk) -> None:
    home = os.getpid()
    while True:
        task = desk.next()
        if task is None:
            return
        number, began = task[0], perf_counter()
        kind, payload = wire.outcome(task[1], task[2])
        if os.getpid() != home:
            # A child that the task forked has returned here: only its parent may answer.
            os._exit(0)
        # Drop the task, so that its arguments are not kept while the worker waits for the next one.
        task = None
        try:
            desk.answer(kind, number, payload, perf_counter() - began)
        except BrokenPipeError:
            # The pool is gone, so nobody reads the answer.
            return
        if payload.memory >= 0:
            payload.close()
