"""A pool's life, run by its thread: tasks are accepted, workers come and go, and everything is ended.

Nothing here depends on processes. A backend starts workers and reports how they fare; `wake` tells it to call
`attend`. Only the pool's thread changes anything here. Callers hand it requests, so that no interrupt, signal
handler or callback ever finds a pool half changed.
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
"""If this many more starts than there are workers fail in a row while no worker is ready, the pool gives up.
"""
_LONGEST_START = 5.0
"""After everything is cancelled, a pool's first task still waits this long for a worker."""


class PoolLife:
    """The tasks of one pool, and its workers."""

    def __init__(
        self,
        terms: PoolTerms,
        start: Callable[[int], None],
        wake: Callable[[], None],
        write: Callable[[Callable[[], object]], object] = lambda action: action(),
    ) -> None:
        """`start` requests a worker for a numbered place.

        `write` runs actions that may have to wait for a reader, such as logging.
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
        """Whether no more tasks are accepted; the pool's thread does the rest."""
        self._is_letting_go = False
        self._last_chance: float | None = None
        """Until this time the first worker may still come, although the waiting tasks were cancelled."""
        self._counts = Counts()
        self._over = threading.Event()

    def open(self, turn: Callable[[], object], end: Callable[[], object]) -> None:
        """Request the workers, and start a thread that calls `turn` until nothing is left, and then `end`."""
        self.staff()
        threading.Thread(target=self._run, args=(turn, end), name="worker pool", daemon=True).start()

    def _run(self, turn: Callable[[], object], end: Callable[[], object]) -> None:
        self._requests.begin()
        try:
            while not (self._is_letting_go and self._is_idle()):
                turn()
        except BaseException as error:
            self._write(partial(_LOG.error, "the pool's thread has failed", exc_info=error))
            # Fail all tasks, so that no caller waits for ever.
            self.give_up(f"the pool's thread has failed, and the pool cannot go on: {error!r}", unheard=True)
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
        """Handle requests and deadlines, once in each turn of the pool's thread."""
        self._requests.is_asleep = False
        self.hear_requests()
        if self._closing and not self._is_letting_go:
            # The caller marked the pool closed, but was interrupted before it could request the closing.
            self._close(cancel=False, kill=False)
        self._see_to_deadlines()

    def hear_requests(self) -> None:
        """Handle all requests, before the events that they may cause."""
        self._requests.see_to(self._take_on, self._note)

    def may_sleep(self) -> bool:
        """Return whether the pool's thread may sleep; from now on, each request wakes it."""
        self._requests.is_asleep = True
        return not self._requests

    # --- workers that come and go ---

    def staff(self) -> None:
        """Request as many workers as are missing."""
        if self._broken is not None or (self._is_letting_go and not self._assigned.waiting):
            return
        places = set(range(self._terms.workers))
        missing = sorted(places - self._assigned.workers.keys() - self._starting)
        self._starting.update(missing)
        for place in missing:
            self._start(place)

    def ready(self, worker: Worker) -> None:
        """Record that a worker is ready for tasks."""
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
        """Record that a worker could not be started; return whether to try again."""
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
        """End the pool: waiting tasks fail; with `unheard`, the tasks that workers have fail as well."""
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
        """Kill a worker that uses too much memory; its current task fails with this error."""
        if self._assigned.workers.get(worker.place) is worker:
            self._end(worker, error)

    def retire(self, worker: Worker) -> None:
        """Replace a worker as soon as it has finished the tasks that it has begun."""
        if self._assigned.workers.get(worker.place) is worker and worker.takes_more:
            self._withhold(worker)
            self._counts.recycled += 1
            worker.takes_more, worker.leaves = False, "max-memory"
            self._assigned.take_back(worker)
            self._assigned.feed(worker)

    def died(self, worker: Worker, error: BaseException) -> None:
        """Handle a worker's end: the task that it had begun fails, and its others go to other workers."""
        self._withhold(worker)
        failed: list[tuple[Task, BaseException]] = []
        begun = self._assigned.remove(worker)
        is_ours = all(task.stopped is not None for task in begun) and worker.leaves
        self._counts.ended += 1
        self._counts.ends[is_ours or "died"] += 1
        for task in begun:
            if task.is_on_its_way:
                # The task never reached the worker; the caller that was about to send it will notice.
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
            self._write(partial(_LOG.warning, "running a task again, because %s", error))
            self._assigned.waiting.appendleft(task)
        self._assigned.give_out()
        self._let_go_when_done()
        self._requests.tell()
        for task, why in failed:
            self.settle(task, error=why)
        self.staff()

    def _withhold(self, *workers: Worker) -> None:
        """Prevent callers from giving tasks to these workers, and record those that were already given."""
        for worker in workers:
            self._assigned.idle.pop(worker, None)
        self.hear_requests()

    def _end(self, worker: Worker, why: BaseException) -> None:
        """Kill a worker together with the task that it has begun; its other tasks are unaffected."""
        self._withhold(worker)
        self._assigned.take_back(worker)
        for task in worker.given:
            task.stopped = task.stopped or why
        worker.takes_more, worker.leaves = False, "shutdown" if self._closing else kind(why)
        worker.kill()

    def _let_go_when_done(self) -> None:
        """Let the workers end if no task is left for them."""
        if not self._is_letting_go:
            return
        self._withhold(*self._assigned.workers.values())
        if not self._assigned.waiting and not self._assigned.running:
            for worker in list(self._assigned.workers.values()):
                worker.takes_more, worker.leaves = False, worker.leaves or "shutdown"
                worker.finish()
            self._wake()

    # --- how tasks end ---

    def _take_on(self, task: Task) -> None:
        if self._broken is not None:
            # The task was submitted just as the pool broke.
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
        # The task is waiting, perhaps because its worker died or was busy; or it has just been answered.
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
            # A standard executor would have begun one task by now, and its caller may rely on that.
            del dropped[0]
            self._last_chance = monotonic() + _LONGEST_START
        for task in dropped:
            self._assigned.withdraw(task)
        self._let_go_when_done()
        self._requests.tell()
        for task in dropped:
            # A task that a worker had begun before it died can no longer be cancelled.
            if not task.cancel():
                self.settle(task, error=TaskKilledError("the pool was ended before the task had begun"))
        return True

    def answered(self, worker: Worker, answers: Sequence[tuple[int, float]]) -> list[Task]:
        """Record the tasks that a worker has done, give it waiting ones, and return the done ones."""
        done = self._assigned.answered(worker, answers)
        self._counts.seconds += sum(seconds for _, seconds in answers)
        if self._terms.max_queue is not None:
            self._requests.tell()
        self._let_go_when_done()
        return done

    def cleared(self, worker: Worker) -> None:
        """Record that a worker has discarded the tasks that were taken back from it."""
        worker.is_clearing = False
        self._assigned.feed(worker)

    def next_deadline(self) -> float | None:
        """Return when the pool's thread must next check deadlines; None if there are none."""
        if not self._assigned.timed and self._last_chance is None:
            return None
        moments = (self._assigned.next_deadline(), self._last_chance)
        return min((moment for moment in moments if moment is not None), default=None)

    def _see_to_deadlines(self) -> None:
        """End the tasks that have exceeded their timeouts."""
        if not self._assigned.timed and self._last_chance is None:
            return
        for worker in self._assigned.overdue():
            ran = f"the task has run for {worker.given[0].timeout:g} s"
            self._end(worker, TaskTimeoutError(f"{ran}, and its worker (pid {worker.pid}) was killed"))
        if self._last_chance is not None and (self._counts.started or monotonic() >= self._last_chance):
            self._close(cancel=True, kill=False)
            self._last_chance = None

    def settle(self, task: Task, value: object = None, error: BaseException | None = None) -> None:
        """Settle a task's future with its result or error, and count the task."""
        self._counts.count(error)
        for raised in task.settle(value, error):
            self._write(
                partial(_LOG.error, "exception calling callback for %r", task.future, exc_info=raised)
            )
