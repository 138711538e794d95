"""Microbatches of one batch that run in turns on threads of their own, in warm-ups, captures and replays."""

from __future__ import annotations

import _thread
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import Context, copy_context
from typing import Any

import torch
from torch.overrides import _get_current_function_mode_stack, _pop_mode, _push_mode
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from coldfork.graphs.errors import GraphError
from coldfork.virtual.capturing.graph import taking_part

_AUTOCASTING = ("cpu", "cuda")


class Microbatches:
    """Threads that run the microbatches of a batch, always one at a time, and are parked between the runs.

    While one microbatch waits for others' data, another one computes. A forward function gives `run` one
    function for each microbatch, and these call `switch` where another microbatch may go on. The threads are
    started once. In a capture they work for the capturing thread: on its stream, under its modes and with its
    state. In a copy of the process, they are started anew.
    """

    def __init__(self, number: int = 2) -> None:
        if number < 2:
            raise ValueError(f"number is at least 2, not {number}")
        self._number = number
        self._workers: list[_Worker] = []
        self._process = 0
        self._run: _Run | None = None
        self._close: Callable[[], object] = lambda: None

    def run(self, *functions: Callable[[], Any]) -> list[Any]:
        """Run the functions in turns, in their order, and return their results.

        If one raises an error, the others end where they are, and the error is raised here.
        """
        if len(functions) > self._number:
            raise GraphError(f"there are {len(functions)} microbatches for {self._number} threads")
        if self._run is not None:
            raise GraphError("these microbatches are running already")
        self._require_threads()
        run = self._run = _Run(functions, Surroundings())
        try:
            for number, worker in enumerate(self._workers[: len(functions)]):
                worker.take(run, number)
            run.complete()
        finally:
            self._run = None
        return run.results

    def switch(self) -> None:
        """Let the next microbatch go on, and return when it is this one's turn again.

        Outside of `run`, as in a batch that is not divided, this does nothing.
        """
        if self._run is not None:
            self._run.switch()

    def _require_threads(self) -> None:
        if self._process != os.getpid():  # a copy of a process has none of its threads
            self._process = os.getpid()
            self._workers = [_Worker() for _ in range(self._number)]
            self._close = weakref.finalize(self, _close, self._workers, self._process)
            self._close.atexit = False


def _close(workers: list[_Worker], process: int) -> None:
    if process == os.getpid():
        for worker in workers:
            worker.leave()


class Surroundings:
    """The state of torch and the graph manager on the thread that makes this; each thread has its own."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._modes = _get_current_dispatch_mode_stack()
        self._function_modes = _get_current_function_mode_stack()
        self._grad = torch.is_grad_enabled()
        self._inference = torch.is_inference_mode_enabled()
        self._casts = [
            torch.autocast(
                one, torch.get_autocast_dtype(one), cache_enabled=torch.is_autocast_cache_enabled()
            )
            for one in _AUTOCASTING
            if torch.is_autocast_enabled(one)
        ]
        # Taken as it is: the stream of a device is asked for in a process that uses the device.
        self._stream = torch.cuda.current_stream() if torch.cuda.is_initialized() else None
        self._profile = sys.getprofile()
        self._variables = copy_context()

    def variables(self) -> Context:
        """Return the context variables, for one thread to run with."""
        return self._variables.copy()

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Within the block, let this thread work as the other one would."""
        with ExitStack() as stack:
            stack.enter_context(taking_part(self._thread))
            if self._stream is not None:
                stack.enter_context(torch.cuda.stream(self._stream))
            stack.enter_context(torch.inference_mode(self._inference))
            stack.enter_context(torch.set_grad_enabled(self._grad))
            for cast in self._casts:
                stack.enter_context(cast)
            for mode in self._modes:
                # Not entered, because a mode that is entered notes so in itself.
                torch._C._push_on_torch_dispatch_stack(mode)
                stack.callback(torch._C._pop_torch_dispatch_stack, None)
            for mode in self._function_modes:
                _push_mode(mode)
                stack.callback(_pop_mode)
            if callable(self._profile):
                sys.setprofile(self._profile)
                stack.callback(sys.setprofile, None)
            yield


class _Abandoned(BaseException):
    """Ends a microbatch whose run has failed in another one."""


class _Run:
    """One run of all microbatches."""

    def __init__(self, functions: tuple[Callable[[], Any], ...], surroundings: Surroundings) -> None:
        self._functions = functions
        self._surroundings = surroundings
        self.results: list[Any] = [None] * len(functions)
        self._turns = [threading.Semaphore(0) for _ in functions]
        self._waiting = list(range(len(functions)))
        """Those that have not ended, in the order of their turns; the first one has its turn."""
        self._over = threading.Semaphore(0)
        self._error: BaseException | None = None

    def complete(self) -> None:
        """Give the first microbatch its turn, and wait until all have ended."""
        self._next()
        while True:
            try:
                self._over.acquire()
                break
            except BaseException as error:  # the program is interrupted, and so are the microbatches
                self._error = self._error or error
        if self._error is not None:
            raise self._error

    def work(self, number: int) -> None:
        """Run one microbatch, from its first turn to its end."""
        self._turns[number].acquire()
        try:
            if self._error is None:
                self.results[number] = self._surroundings.variables().run(self._in_place, number)
        except _Abandoned:
            pass
        except BaseException as error:
            self._error = self._error or error
        self._waiting.pop(0)
        self._next()

    def _in_place(self, number: int) -> Any:
        with self._surroundings.entered():
            return self._functions[number]()

    def switch(self) -> None:
        number = self._waiting.pop(0)
        self._waiting.append(number)
        self._next()
        self._turns[number].acquire()
        if self._error is not None:
            raise _Abandoned

    def _next(self) -> None:
        (self._turns[self._waiting[0]] if self._waiting else self._over).release()


class _Worker:
    """A thread that is parked until it is given a microbatch."""

    def __init__(self) -> None:
        self._given: tuple[_Run, int] | None = None
        self._wakes = threading.Semaphore(0)
        # The threading module would report that a thread starts, but its work is seen as the caller's.
        _thread.start_new_thread(self._serve, ())

    def take(self, run: _Run, number: int) -> None:
        """Have the thread run one microbatch."""
        self._given = run, number
        self._wakes.release()

    def leave(self) -> None:
        """End the thread."""
        self._wakes.release()

    def _serve(self) -> None:
        while True:
            self._wakes.acquire()
            given, self._given = self._given, None
            if given is None:
                return
            given[0].work(given[1])
            del given
