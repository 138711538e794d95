"""Copies of this process in which code can run without any effect on this process."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import pickle
import queue
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
"""Processor time in seconds; an idle copy uses less than this in a second, just for reading the clock."""


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
        body = pickle.dumps((question, limit, lasting))
        rest = memoryview(_LENGTH.pack(len(body)) + body)
        with suppress(BrokenPipeError):
            while rest:
                rest = rest[os.write(self._asking, rest) :]  # a signal may interrupt a write before its end

    def _received(self, limit: float) -> Answer:
        self._ahead = None
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
    with os.fdopen(asked, "rb") as questions:
        while head := questions.read(_LENGTH.size):
            question, limit, lasting = pickle.loads(questions.read(_LENGTH.unpack(head)[0]))
            if lasting:
                _work(partial(work, question), file, limit)
                signal.setitimer(signal.ITIMER_REAL, 0)
                os.write(answering, _STATUS.pack(0))
                continue
            parent, child = os.getpid(), os.fork()
            if not child:
                _work_and_leave(partial(work, question), file, limit, parent)
            os.write(answering, _STATUS.pack(os.waitpid(child, 0)[1]))


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


def _work_and_leave(work: Callable[[], Any], file: int, limit: float, parent: int) -> NoReturn:
    try:
        _end_with(parent)
        _leave_no_trace()
        _work(work, file, limit)
        os._exit(0)
    finally:
        # Skip Python's exit handlers, which belong to the parent.
        os._exit(1)


def _work(work: Callable[[], Any], file: int, limit: float) -> None:
    # By default an alarm ends a process, even if it is stuck in C code after its parent has gone.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGALRM,))
    signal.setitimer(signal.ITIMER_REAL, limit)
    # The copy lacks the threads of torch's pools; with a limit of one thread, torch does not wait for them.
    torch.set_num_threads(1)
    begun, done = threading.Event(), threading.Event()
    threading.Thread(target=_end_when_idle, args=(begun, done), daemon=True).start()
    begun.wait()  # or the work would be told of this thread as of one of its own
    try:
        said: tuple[str, Any] = "", work()
    except BaseException as error:
        said = f"{type(error).__name__}: {error}", None
    finally:
        done.set()
    os.ftruncate(file, 0)
    with os.fdopen(os.dup(file), "wb") as body:
        body.seek(0)
        torch.save(said, body)


def _end_when_idle(begun: threading.Event, done: threading.Event) -> None:
    """End this copy if it stays idle: it probably waits for a thread that was not copied."""
    begun.set()
    idle, before = 0, time.process_time()
    while not done.wait(1):
        now = time.process_time()
        idle = idle + 1 if now - before < _LITTLE else 0
        before = now
        if idle >= _IDLE_SECONDS:
            os.kill(os.getpid(), _STUCK)


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
