"""The life of a pool as its thread leads it: tasks that are taken on, workers that come and go, every end.

It knows nothing of processes. A backend starts workers, says what becomes of them, and is told by `wake` that
it is to call `attend`. Only the pool's thread changes anything here. Callers hand it requests, so that no
interrupt, signal handler or callback ever comes upon a pool that is half changed.
"""

from __future__ import annotations

import threading
from functools import partial
from logging import getLogger
from time import monotonic

from coldfork.launch.pool.assignments import Assignments, Worker
from coldfork.launch.pool.errors import PoolBrokenError, TaskKilledError, TaskTimeoutError, kind
from coldfork.launch.pool.health import Counts
from coldfork.launch.pool.requests import Requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coldfork.launch.pool.task import Task
    from coldfork.launch.pool.terms import PoolTerms

_LOG = getLogger("coldfork")
_MORE_FAILURES = 2
"""So many more starts than there are workers may fail in a row, while none is ready, until it is hopeless."""
_LONGEST_START = 5.0
"""So long the first task of a pool waits for a worker when all is cancelled."""


class PoolLife:
    """The tasks of one pool and the workers that it has."""

    def __init__(
        self,
        terms: PoolTerms,
        start: Callable[[int], None],
        wake: Callable[[], None],
        write: Callable[[Callable[[], object]], object] = lambda action: action(),
    ) -> None:
        """`start` has a worker started for a place, by and by.

        `write` does what may have to wait until somebody reads, as it may be with a log.
        """
        self._terms = terms
        self._start = start
        self._wake = wake
        self._write = write
        self._requests = Requests(wake)
        self._assigned = Assignments(terms.max_tasks, wake)
        self._starting: set[int] = set()
        self._failures = 0
        self._last_failure = ""
        self._broken: PoolBrokenError | None = None
        self._closing = False
        """Whether nothing more is taken on; the pool's thread sees to what follows from it."""
        self._is_letting_go = False
        self._last_chance: float | None = None
        """Until then the first worker may still come, though what waits was cancelled."""
        self._counts = Counts()
        self._over = threading.Event()

    def open(self, turn: Callable[[], object], end: Callable[[], object]) -> None:
        """Ask for the workers; a thread takes turns while anything is left to be done, and then ends it."""
        self.staff()
        threading.Thread(target=self._run, args=(turn, end), name="worker pool", daemon=True).start()

    def _run(self, turn: Callable[[], object], end: Callable[[], object]) -> None:
        self._requests.begin()
        try:
            while not (self._is_letting_go and self._is_idle()):
                turn()
        except BaseException as error:
            self._write(partial(_LOG.error, "the pool's thread has failed", exc_info=error))
            # No task waits for ever.
            self.give_up(f"the pool cannot go on: its thread has failed: {error!r}", unheard=True)
        finally:
            try:
                end()
            finally:
                self._closing = True
                self._over.set()
                self._requests.end()

    def _is_idle(self) -> bool:
        return not (self._requests or self._assigned.workers or self._assigned.waiting)

    def attend(self) -> None:
        """See to what was asked for, and to the clock: the pool's thread, in each of its turns."""
        self._requests.is_asleep = False
        self.hear_requests()
        if self._closing and not self._is_letting_go:
            # Whoever has closed it was interrupted before it could say how.
            self._close(cancel=False, kill=False)
        self._see_to_deadlines()

    def hear_requests(self) -> None:
        """See to what was asked for, before anything else that may follow from it."""
        self._requests.see_to(self._take_on, self._note)

    def may_sleep(self) -> bool:
        """Whether the pool's thread may wait now: whoever asks for something from here on wakes it."""
        self._requests.is_asleep = True
        return not self._requests

    # --- workers that come and go ---

    def staff(self) -> None:
        """Have as many workers started as there ought to be."""
        if self._broken is not None or (self._is_letting_go and not self._assigned.waiting):
            return
        places = set(range(self._terms.workers))
        missing = sorted(places - self._assigned.workers.keys() - self._starting)
        self._starting.update(missing)
        for place in missing:
            self._start(place)

    def ready(self, worker: Worker) -> None:
        """A worker is ready for tasks."""
        seconds = monotonic() - worker.asked
        self._starting.discard(worker.place)
        self._failures = 0
        self._counts.started += 1
        self._counts.start_seconds += seconds
        if self._assigned.durations is not None:
            self._assigned.durations.starts.add(seconds)
        self._assigned.workers[worker.place] = worker
        self._assigned.feed(worker)
        self._let_go_when_done()
        self._requests.tell()

    def failed_to_start(self, place: int, why: str, *, for_good: bool = False) -> bool:
        """A worker could not be started; whether it is worth another attempt."""
        self._starting.discard(place)
        self._failures += 1
        self._counts.failed_starts += 1
        self._last_failure = why
        many = self._failures >= self._terms.workers + _MORE_FAILURES
        hopeless = for_good or (many and not self._assigned.workers)
        self._requests.tell()
        self._write(partial(_LOG.warning, "a worker of the pool could not be started: %s", why))
        if hopeless:
            self.give_up(f"no worker of the pool can be started: {why}")
        return not hopeless

    def give_up(self, why: str, *, unheard: bool = False) -> None:
        """The pool is at its end: what waits fails, and what workers were given if nobody hears them."""
        if self._broken is None:
            self._broken = PoolBrokenError(why)
            self._starting.clear()
            for worker in list(self._assigned.workers.values()):
                self._end(worker, self._broken)
            self._closing = self._is_letting_go = True
        self._withhold(*self._assigned.workers.values())
        lost = list(self._assigned.waiting)
        self._assigned.waiting.clear()
        if unheard:
            given = [task for worker in self._assigned.workers.values() for task in worker.given]
            lost += [task for task in given if not task.future.done()]
            self._assigned.workers.clear()
        self._requests.tell()
        for task in lost:
            self.settle(task, error=PoolBrokenError(str(self._broken)))

    def stop_worker(self, worker: Worker, error: BaseException) -> None:
        """Kill a worker for what it does to the machine; what it runs fails with this error."""
        if self._assigned.workers.get(worker.place) is worker:
            self._end(worker, error)

    def retire(self, worker: Worker) -> None:
        """Have a worker replaced when it has done what it has begun."""
        if self._assigned.workers.get(worker.place) is worker and worker.takes_more:
            self._withhold(worker)
            self._counts.recycled += 1
            worker.takes_more, worker.leaves = False, "max-memory"
            self._assigned.take_back(worker)
            self._assigned.feed(worker)

    def died(self, worker: Worker, error: BaseException) -> None:
        """A worker has ended: what it had begun fails, and what it had not goes to others."""
        self._withhold(worker)
        failed: list[tuple[Task, BaseException]] = []
        begun = self._assigned.remove(worker)
        is_ours = all(task.stopped is not None for task in begun) and worker.leaves
        self._counts.ended += 1
        self._counts.ends[is_ours or "died"] += 1
        for task in begun:
            if task.is_on_its_way:
                # It never got there; whoever was about to send it hears of that.
                self._assigned.waiting.appendleft(task)
                continue
            if task.stopped is None:
                self._counts.died += 1
            if task.stopped is not None or task.retries == 0:
                failed.append((task, task.stopped or error))
                continue
            task.retries -= 1
            task.future.attempts += (error,)
            self._counts.retried += 1
            self._write(partial(_LOG.warning, "a task is done again, because %s", error))
            self._assigned.waiting.appendleft(task)
        self._assigned.give_out()
        self._let_go_when_done()
        self._requests.tell()
        for task, why in failed:
            self.settle(task, error=why)
        self.staff()

    def _withhold(self, *workers: Worker) -> None:
        """Let no caller give them a task from now on, and know of what somebody has given them."""
        for worker in workers:
            self._assigned.idle.pop(worker, None)
        self.hear_requests()

    def _end(self, worker: Worker, why: BaseException) -> None:
        """Kill a worker, with what it has begun and with nothing else."""
        self._withhold(worker)
        self._assigned.take_back(worker)
        for task in worker.given:
            task.stopped = task.stopped or why
        worker.takes_more, worker.leaves = False, "shutdown" if self._closing else kind(why)
        worker.kill()

    def _let_go_when_done(self) -> None:
        """Let the workers go, when nothing is left for them to do."""
        if not self._is_letting_go:
            return
        self._withhold(*self._assigned.workers.values())
        if not self._assigned.waiting and not self._assigned.running:
            for worker in list(self._assigned.workers.values()):
                worker.takes_more, worker.leaves = False, worker.leaves or "shutdown"
                worker.finish()
            self._wake()

    # --- what becomes of tasks ---

    def _take_on(self, task: Task) -> None:
        if self._broken is not None:
            # It was submitted while the pool broke.
            self.settle(task, error=PoolBrokenError(str(self._broken)))
            return
        self._counts.submitted += 1
        self._assigned.add(task)

    def _note(self, worker: Worker, task: Task) -> None:
        self._counts.submitted += 1
        self._assigned.given_at_once(worker, task)

    def _waiting(self) -> int:
        return len(self._requests) + len(self._assigned.waiting)

    def _kill(self, task: Task) -> bool:
        worker = self._assigned.running.get(task.number)
        if task.future.done():
            return False
        if worker is None:
            why = TaskKilledError("the task was killed before it had begun")
        else:
            why = TaskKilledError(f"the task was killed in process {worker.pid}")
            self._assigned.take_back(worker)
            if task in worker.given:
                self._end(worker, why)
                return True
        # It waits, also once more, because its worker died or was busy; or its answer is here.
        if not self._assigned.withdraw(task):
            return False
        if worker is not None:
            self._assigned.feed(worker)
        self.settle(task, error=why)
        return True

    def _close(self, *, cancel: bool, kill: bool) -> bool:
        self._is_letting_go = True
        if kill:
            for worker in list(self._assigned.workers.values()):
                self._end(worker, TaskKilledError("the pool was ended while the task ran"))
        dropped = [task for task in self._assigned.waiting if kill or (cancel and not task.begun)]
        if dropped and not (kill or self._counts.started or self._last_chance is not None):
            # Another executor would have begun by now, and who has submitted this relies on it.
            del dropped[0]
            self._last_chance = monotonic() + _LONGEST_START
        for task in dropped:
            self._assigned.withdraw(task)
        self._let_go_when_done()
        self._requests.tell()
        for task in dropped:
            # One that was begun with once cannot be cancelled any more.
            if not task.cancel():
                self.settle(task, error=TaskKilledError("the pool was ended before the task had begun"))
        return True

    def answered(self, worker: Worker, answers: Sequence[tuple[int, float]]) -> list[Task]:
        """A worker has done tasks, which are handed out to be settled; it is given what waits."""
        done = self._assigned.answered(worker, answers)
        self._counts.seconds += sum(seconds for _, seconds in answers)
        if self._terms.max_queue is not None:
            self._requests.tell()
        self._let_go_when_done()
        return done

    def cleared(self, worker: Worker) -> None:
        """A worker has thrown away what was taken back from it."""
        worker.is_clearing = False
        self._assigned.feed(worker)

    def next_deadline(self) -> float | None:
        """When there is something to be seen to at the latest."""
        if not self._assigned.timed and self._last_chance is None:
            return None
        moments = (self._assigned.next_deadline(), self._last_chance)
        return min((moment for moment in moments if moment is not None), default=None)

    def _see_to_deadlines(self) -> None:
        """End what has run too long."""
        if not self._assigned.timed and self._last_chance is None:
            return
        for worker in self._assigned.overdue():
            ran = f"the task has run for {worker.given[0].timeout:g} s"
            self._end(worker, TaskTimeoutError(f"{ran}, and its worker (pid {worker.pid}) was killed"))
        if self._last_chance is not None and (self._counts.started or monotonic() >= self._last_chance):
            self._close(cancel=True, kill=False)
            self._last_chance = None

    def settle(self, task: Task, value: object = None, error: BaseException | None = None) -> None:
        """Tell a task's caller how it ended, and count it."""
        self._counts.count(error)
        for raised in task.settle(value, error):
            self._write(
                partial(_LOG.error, "exception calling callback for %r", task.future, exc_info=raised)
            )
