"""Requests of callers to the pool's thread, and the callers' wait for the outcome.

Each change is made in a single step, because a caller may be interrupted anywhere, and a signal handler may
run this code while the interrupted thread is in the middle of it. The pool's thread never waits for a lock.
"""

from __future__ import annotations

import threading
from _thread import allocate_lock
from collections import deque
from itertools import starmap
from operator import call
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _thread import LockType
    from collections.abc import Callable

    from coldfork.launch.pool.assignments import Worker
    from coldfork.launch.pool.task import Task

    Request = Callable[[], object]

_MANY = 256
_MOMENT = 0.005
ENDED = "cannot schedule new futures after shutdown"


class Requests:
    """The requests of callers in order, each a task or a call, and the callers that wait."""

    def __init__(self, wake: Callable[[], None]) -> None:
        """`wake` wakes the pool's thread to handle requests."""
        self._wake = wake
        self._asked: deque[Task | Request] = deque()
        self._in_hand = 0
        self.handed_over: deque[tuple[Worker, Task]] = deque()
        """Tasks that callers have given to workers, and that the thread has not recorded yet."""
        self._waiters: deque[LockType] = deque()
        """Locks of callers that wait for a change, each released once."""
        self._one_at_a_time = threading.RLock()
        """Held by callers that may only ask while there is room; the pool's thread never takes it."""
        self._thread: threading.Thread | None = None
        self._unattended = False
        """Whether there is no longer a thread that handles requests."""
        self._is_over = False
        self.is_asleep = True
        """Whether the thread has to be woken; the thread sets it before it checks for requests one last time.
        """

    def __len__(self) -> int:
        return len(self._asked) + self._in_hand

    def begin(self) -> None:
        """Make this thread the one that handles requests."""
        self._thread = threading.current_thread()

    @property
    def are_own(self) -> bool:
        """Return whether the caller is the pool's own thread, in a callback."""
        return threading.current_thread() is self._thread

    def ask(self, request: Task | Request) -> None:
        """Have the pool's thread handle a request soon."""
        self._asked.append(request)
        if self.is_asleep:
            self._wake()
        if len(self._asked) > _MANY and not self.are_own:
            # A caller that asks without pause must wait, or the thread would get no time to handle requests.
            self.await_change(lambda: len(self._asked) <= _MANY, _MOMENT)
        if self._unattended:
            # No thread is left to handle requests, so the caller refuses this one itself.
            self._refuse()

    def hand_over(self, offered: dict[Worker, None], worker: Worker, task: Task) -> bool:
        """Give a task to an idle worker directly; False if another caller was quicker.

        Raises `OSError` or `ValueError` if the task could not be sent. A single call that runs no Python code
        does it all, so that no signal handler can interrupt it, and records the worker before it can answer.
        """
        sending = worker.handing(task)
        if not sending:
            return False
        task.is_on_its_way = True
        calls = (
            (offered.__delitem__, worker),
            (self.handed_over.append, (worker, task)),
            *sending,
            (setattr, task, "is_on_its_way", False),
        )
        try:
            deque(starmap(call, calls), 0)
        except KeyError:
            return False
        return True

    def ask_when(self, may: Callable[[], bool], request: Task | Request) -> None:
        """Have the pool's thread handle a request as soon as `may` returns True.

        A callback in the pool's thread does not wait, because it would wait for itself.
        """
        while not self.are_own:
            self.await_change(may)
            with self._one_at_a_time:
                if may():
                    self.ask(request)
                    return
        self.ask(request)

    def answer(self, request: Callable[[], bool], timeout: float | None = None) -> bool:
        """Have the pool's thread run a request, and return its result; return False on timeout."""
        if self.are_own:
            return request()
        answers: list[bool] = []

        def reply() -> None:
            answers.append(request())
            self.tell()

        self.ask(reply)
        self.await_change(lambda: bool(answers), timeout)
        return answers == [True]

    def see_to(self, take_on: Callable[[Task], None], note: Callable[[Worker, Task], None]) -> None:
        """Handle all requests: `take_on` gets new tasks, `note` gets those that callers have given to
        workers.
        """
        asked, handed_over = self._asked, self.handed_over
        while asked or handed_over:
            while handed_over:
                note(*handed_over.popleft())
            if not asked:
                break
            request = asked[0]
            if callable(request):
                asked.popleft()
                request()
            else:
                # Counted before it leaves the queue, so that a count of waiting tasks never misses it.
                self._in_hand += 1
                asked.popleft()
                take_on(request)
                self._in_hand -= 1
        self.tell()

    def end(self) -> None:
        """Stop handling requests: refuse tasks, and let waiting callers return."""
        self._unattended = True
        self._refuse()
        self._is_over = True
        self.tell()

    def _refuse(self) -> None:
        while True:
            try:
                request = self._asked.popleft()
            except IndexError:
                return
            if callable(request):
                request()
            else:
                request.settle(None, RuntimeError(ENDED))

    def await_change(self, is_so: Callable[[], bool], timeout: float | None = None) -> bool:
        """Wait until the pool's thread has made a condition true; False on timeout."""
        until = None if timeout is None else monotonic() + timeout
        while True:
            waiter = allocate_lock()
            waiter.acquire()
            # Registered before the check, so that no change between the two is missed.
            self._waiters.append(waiter)
            if is_so():
                return True
            if self._is_over:
                return False
            left = -1 if until is None else min(max(0.0, until - monotonic()), threading.TIMEOUT_MAX)
            if not waiter.acquire(timeout=left):
                return is_so()

    def tell(self) -> None:
        """Let waiting callers check their conditions again."""
        while self._waiters:
            self._waiters.popleft().release()
