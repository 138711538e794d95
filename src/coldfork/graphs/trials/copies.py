"""Copies of this process in which code can run without any effect on this process."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import pickle
import queue
import select
import signal
import struct
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NoReturn

import torch

_LENGTH = struct.Struct("<Q")
_STATUS = struct.Struct("<q")
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
"""Signals that the work itself causes, for example by an index outside a table."""
_STUCK = signal.SIGVTALRM
_DEATH_SIGNAL = 1
"""The `prctl` option PR_SET_PDEATHSIG: the signal to send to a process when its parent ends."""
_IDLE_SECONDS = 10
_LITTLE = 0.005
"""The share of its time for which an idle copy computes, or waits for a processor: it may poll a clock."""
_EVERY_SECOND = 1.0
_BETWEEN = frozenset((signal.SIGCHLD,))


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of work in a copy."""

    value: Any = None
    error: str = ""
    """The exception that the work raised, as text; empty if none."""
    trouble: str = ""
    """Why the copy ended without an answer; empty if it gave one."""

    @property
    def given(self) -> bool:
        """Whether the work returned a result."""
        return not self.error and not self.trouble


def reason_against(device: Any) -> str:
    """Return why copies of the process cannot try captures on this device; empty if they can."""
    if torch.device(device).type != "cpu":
        return "a process with a device cannot be copied; capture on the CPU to have runs compared"
    if not sys.platform.startswith("linux"):
        return "runs are compared in forked copies of the process, which is done on Linux only"
    if torch.cuda.is_initialized():
        return "CUDA is initialised in this process, so it cannot be copied"
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        if distributed.get_world_size() > 1:
            return "a process group is connected, and a copy of this process would send on it"
    return ""


class Standby:
    """A copy of this process as it is now; it answers each later question in another copy."""

    def __init__(self, work: Callable[[Any], Any], prepare: Callable[[], object] = lambda: None) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the copy
        self._lasts = False
        asked, self._asking = os.pipe()
        self._answered, answering = os.pipe()
        self._ahead: tuple[Any, float] | None = None
        parent = os.getpid()
        self._pid = _fork()
        if not self._pid:
            try:
                _end_with(parent)
                os.close(self._asking)
                os.close(self._answered)
                _leave_no_trace()
                prepare()
                _serve(work, asked, answering, self._file.fileno())
            finally:
                os._exit(0)
        os.close(asked)
        os.close(answering)

    def ask(self, question: Any, limit: float, *, lasting: bool = False) -> Answer:
        """Return the answer to a question; changes made by a `lasting` question remain for later ones."""
        if self._ahead is not None:
            asked, its_limit = self._ahead
            answer = self._received(its_limit)
            if asked == question and not lasting:
                return answer
        self._send(question, limit, lasting)
        return self._received(limit)

    def ask_ahead(self, question: Any, limit: float) -> None:
        """Start to work on the next question early, while this process does something else."""
        if self._ahead is None:
            self._send(question, limit, lasting=False)
            self._ahead = question, limit

    def _send(self, question: Any, limit: float, lasting: bool) -> None:
        self._lasts = lasting
        body = pickle.dumps((question, limit, lasting))
        rest = memoryview(_LENGTH.pack(len(body)) + body)
        with suppress(BrokenPipeError):
            while rest:
                rest = rest[os.write(self._asking, rest) :]  # a signal may interrupt a write before its end

    def _received(self, limit: float) -> Answer:
        self._ahead = None
        if self._lasts:
            # Nobody else would end the copy, because it works on this question itself.
            patience = Patience(self._pid, limit)
            while not select.select([self._answered], [], [], _EVERY_SECOND)[0]:
                patience.end_if_over()
        status = os.read(self._answered, _STATUS.size)
        if len(status) < _STATUS.size:
            return Answer(trouble="the process that was kept for fresh runs is gone")
        return _answer(self._file.fileno(), _STATUS.unpack(status)[0], limit)

    def close(self) -> None:
        """End the copy."""
        if not self._file.closed:
            self._file.close()
            os.close(self._asking)
            os.close(self._answered)
            # Killed, because later copies hold the pipe's write end too, so that its input may never end.
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)


def _serve(work: Callable[[Any], Any], asked: int, answering: int, file: int) -> None:
    # Blocked, so that the end of a copy is waited for, and not handled by the program.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _BETWEEN)
    with os.fdopen(asked, "rb") as questions:
        while head := questions.read(_LENGTH.size):
            question, limit, lasting = pickle.loads(questions.read(_LENGTH.unpack(head)[0]))
            if lasting:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                _work(partial(work, question), file)
                signal.pthread_sigmask(signal.SIG_BLOCK, _BETWEEN)
                os.write(answering, _STATUS.pack(0))
                continue
            parent, child = os.getpid(), os.fork()
            if not child:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                _work_and_leave(partial(work, question), file, parent)
            os.write(answering, _STATUS.pack(_awaited(child, limit)))


def _awaited(child: int, limit: float) -> int:
    """Wait for a copy's end, and end it when its time is over; return its status."""
    patience = Patience(child, limit)
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        if signal.sigtimedwait(_BETWEEN, _EVERY_SECOND) is None:
            patience.end_if_over()


@dataclass(frozen=True, slots=True)
class Usage:
    """How a process spent its time so far, in seconds."""

    computed: float
    waited: float
    """How long its threads waited for a processor while others had it."""
    asleep: bool
    """Whether all its threads sleep now."""


def usage_of(process: int) -> Usage:
    """Return how a process spent its time; the system tells it of each thread."""
    computed = waited = 0
    states = set[str]()
    for thread in Path(f"/proc/{process}/task").iterdir():
        with suppress(OSError):  # a thread may end meanwhile
            states.add((thread / "stat").read_text().rpartition(")")[2].split()[0])
            ran, ready, _ = map(int, (thread / "schedstat").read_text().split())
            computed, waited = computed + ran, waited + ready
    return Usage(computed / 1e9, waited / 1e9, states <= {"S"})


class Patience:
    """A limit for the time that a copy may take, in which the time is left out that it waits for a processor.

    A busy machine thus changes no answer.
    """

    def __init__(
        self,
        process: int,
        limit: float,
        usage: Callable[[int], Usage] = usage_of,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._process = process
        self._limit = limit
        self._usage, self._clock = usage, clock
        self._seen, self._at = Usage(0.0, 0.0, False), clock()
        self._taken = self._idle = 0.0

    def reason_to_end(self) -> signal.Signals | None:
        """Return the signal that says why the copy has to end now; None as long as it need not."""
        now, seen = self._clock(), self._usage(self._process)
        passed, computed = now - self._at, seen.computed - self._seen.computed
        waited = seen.waited - self._seen.waited
        self._seen, self._at = seen, now
        # While one thread waits, another one may compute.
        self._taken += max(min(computed, passed), passed - waited)
        does_nothing = seen.asleep and computed + waited < _LITTLE * passed
        self._idle = self._idle + passed if does_nothing else 0.0
        if self._taken >= self._limit:
            return signal.SIGALRM
        return _STUCK if self._idle >= _IDLE_SECONDS else None

    def end_if_over(self) -> None:
        """End the copy if it has taken too long, or probably waits for a thread that was not copied."""
        reason = self.reason_to_end()
        if reason is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process, reason)


def _fork() -> int:
    with _past_the_guard(), warnings.catch_warnings():
        # The warnings of Python and libraries about forks are meant for the program's own forks.
        warnings.simplefilter("ignore")
        return os.fork()


def _past_the_guard() -> AbstractContextManager[object]:
    guard = sys.modules.get("coldfork.start.guard")
    if guard is None:
        return nullcontext()
    passed: AbstractContextManager[object] = guard.allow_fork("a check of graphs compares runs in copies")
    return passed


def _end_with(parent: int) -> None:
    """Have the kernel kill this copy when the process that made it ends, for whatever reason."""
    _system().prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # the copy has ended already
        os._exit(1)


@cache
def _system() -> Any:
    return ctypes.CDLL(None)


def _work_and_leave(work: Callable[[], Any], file: int, parent: int) -> NoReturn:
    try:
        _end_with(parent)
        _leave_no_trace()
        _work(work, file)
        os._exit(0)
    finally:
        # Skip Python's exit handlers, which belong to the parent.
        os._exit(1)


def _work(work: Callable[[], Any], file: int) -> None:
    # By default these signals end a process, even if it is stuck in C code.
    for one in (signal.SIGALRM, _STUCK):
        signal.signal(one, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGALRM, _STUCK))
    # The copy lacks the threads of torch's pools; with a limit of one thread, torch does not wait for them.
    torch.set_num_threads(1)
    try:
        said: tuple[str, Any] = "", work()
    except BaseException as error:
        said = f"{type(error).__name__}: {error}", None
    os.ftruncate(file, 0)
    with os.fdopen(os.dup(file), "wb") as body:
        body.seek(0)
        torch.save(said, body)


def revive_executors(executors: Iterable[Any]) -> None:
    """Let `ThreadPoolExecutor`s start new threads in this copy, since threads are not copied."""
    for one in executors:
        if not all(thread.is_alive() for thread in one._threads):
            one._threads.clear()
            one._idle_semaphore = threading.Semaphore(0)
            one._work_queue = queue.SimpleQueue()


def _leave_no_trace() -> None:
    """Discard this copy's output and crash reports."""
    faulthandler.disable()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    sys.stdout = sys.stderr = os.fdopen(nowhere, "w")


def _answer(file: int, status: int, limit: float) -> Answer:
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGALRM:
        return Answer(trouble=f"it was not done within {limit:.0f} s")
    if code == -_STUCK:
        return Answer(trouble=f"it did nothing for {_IDLE_SECONDS} s, as if it waited for another thread")
    if -code in _CRASHES:
        return Answer(error=f"it crashed with {signal.Signals(-code).name}")
    if code:
        ended = f"signal {-code}" if code < 0 else f"status {code}"
        return Answer(trouble=f"its process ended with {ended}")
    with os.fdopen(os.dup(file), "rb") as body:
        body.seek(0)
        error, value = torch.load(body, weights_only=False)
    return Answer(value, error=error)
