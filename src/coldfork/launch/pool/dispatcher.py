"""The life of a pool: tasks that are taken on, workers that come and go, and the end of each and of all.

It knows nothing of processes. A backend starts workers, says what becomes of them, and is told by `wake` when
it is to look at the clock. Whoever submits a task gives it to a worker that has nothing to do right away.
"""

from __future__ import annotations

import threading
from logging import getLogger
from time import monotonic

from coldfork.launch.pool.assignments import Assignments, Worker
from coldfork.launch.pool.errors import PoolBrokenError, TaskKilledError, TaskTimeoutError, kind
from coldfork.launch.pool.health import Counts, Durations, PoolHealth

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
_MANY = 16


class Dispatcher:
    """The tasks of one pool and the workers that it has."""

    def __init__(self, terms: PoolTerms, start: Callable[[int], None], wake: Callable[[], None]) -> None:
        """`start` has a worker started for a place, by and by."""
        self._terms = terms
        self._start = start
        self._wake = wake
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._assigned = Assignments(terms.max_tasks, wake)
        self._starting: set[int] = set()
        self._failures = 0
        self._last_failure = ""
        self._broken: PoolBrokenError | None = None
        self._closing = False
        self._last_chance: float | None = None
        """Until then the first worker may still come, though what waits was cancelled."""
        self._counts = Counts()
        self._thread: threading.Thread | None = None
        self._over = threading.Event()

    def open(self, turn: Callable[[], object], end: Callable[[], object]) -> None:
        """Ask for the workers; a thread takes turns while anything is left to be done, and then ends it."""
        self._thread = threading.Thread(target=self._run, args=(turn, end), name="worker pool", daemon=True)
        self._thread.start()
        self.staff()

    def _run(self, turn: Callable[[], object], end: Callable[[], object]) -> None:
        try:
            while True:
                with self._lock:
                    if self._closing and not (self._assigned.workers or self._assigned.waiting):
                        break
                turn()
        except BaseException as error:
            _LOG.exception("the pool's thread has failed")
            # No task waits for ever.
            self.give_up(f"its thread has failed: {error!r}", unheard=True)
        finally:
            end()
            self._over.set()

    def await_end(self) -> None:
        """Wait until nothing is left of the workers, unless it is the pool's own thread that asks."""
        if threading.current_thread() is not self._thread:
            self._over.wait()

    # --- what callers ask ---

    def submit(self, task: Task) -> None:
        """Take a task on; `RuntimeError`, as of every executor, after the end."""
        with self._lock:
            most = self._terms.max_queue
            if most is not None:
                self._changed.wait_for(lambda: self._closing or len(self._assigned.waiting) < most)
            self._check()
            self._counts.submitted += 1
            if self._assigned.durations is not None:
                task.submitted = monotonic()
            self._assigned.add(task)

    def _check(self) -> None:
        if self._broken is not None:
            raise PoolBrokenError(str(self._broken))
        if self._closing:
            raise RuntimeError("cannot schedule new futures after shutdown")

    def kill(self, task: Task) -> bool:
        """End a task, wherever it is; False if it has ended already."""
        with self._lock:
            if task.future.done():
                return False
            worker = self._assigned.running.get(task.number)
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

    def close(self, *, cancel: bool, kill: bool = False) -> None:
        """Take nothing on any more; the workers end when nothing is left to do."""
        with self._changed:
            self._closing = True
            if kill:
                for worker in self._assigned.workers.values():
                    self._end(worker, TaskKilledError("the pool was ended while the task ran"))
            dropped = [task for task in self._assigned.waiting if kill or (cancel and not task.begun)]
            if dropped and not (kill or self._counts.started or self._last_chance is not None):
                # Another executor would have begun by now, and who has submitted this relies on it.
                del dropped[0]
                self._last_chance = monotonic() + _LONGEST_START
            for task in dropped:
                self._assigned.withdraw(task)
            self._let_go_when_done()
            self._changed.notify_all()
        for task in dropped:
            # One that was begun with once cannot be cancelled any more.
            if not task.cancel():
                self.settle(task, error=TaskKilledError("the pool was ended before the task had begun"))
        self._wake()

    def await_workers(self, wanted: int, timeout: float | None) -> bool:
        """Wait until so many are ready; False when the time is up, `PoolBrokenError` when none will be."""
        with self._changed:
            workers = self._assigned.workers
            self._changed.wait_for(lambda: self._broken is not None or len(workers) >= wanted, timeout)
            if self._broken is not None:
                raise PoolBrokenError(str(self._broken))
            return len(workers) >= wanted

    def health(self) -> PoolHealth:
        """How the pool stands."""
        with self._lock:
            workers = self._assigned.workers
            return PoolHealth(
                workers=self._terms.workers,
                warm=len(workers),
                busy=sum(1 for worker in workers.values() if worker.given),
                starting=len(self._starting),
                waiting=len(self._assigned.waiting),
                failures=self._failures,
                last_failure=self._last_failure,
                broken=self._broken is not None,
                closed=self._closing,
                pids=tuple(worker.pid for _, worker in sorted(workers.items())),
                counts=self._counts.copied(),
            )

    def measure(self) -> Durations:
        """Count durations from now on, or go on with it; where they are counted."""
        with self._lock:
            self._assigned.durations = self._assigned.durations or Durations()
            return self._assigned.durations

    # --- workers that come and go ---

    def staff(self) -> None:
        """Have as many workers started as there ought to be."""
        with self._lock:
            if self._broken is not None or (self._closing and not self._assigned.waiting):
                return
            places = set(range(self._terms.workers))
            missing = sorted(places - self._assigned.workers.keys() - self._starting)
            self._starting.update(missing)
        for place in missing:
            self._start(place)

    def ready(self, worker: Worker) -> None:
        """A worker is ready for tasks."""
        seconds = monotonic() - worker.asked
        with self._changed:
            self._starting.discard(worker.place)
            self._failures = 0
            self._counts.started += 1
            self._counts.start_seconds += seconds
            if self._assigned.durations is not None:
                self._assigned.durations.starts.add(seconds)
            self._assigned.workers[worker.place] = worker
            self._assigned.feed(worker)
            self._let_go_when_done()
            self._changed.notify_all()

    def failed_to_start(self, place: int, why: str, *, for_good: bool = False) -> bool:
        """A worker could not be started; whether it is worth another attempt."""
        with self._changed:
            self._starting.discard(place)
            self._failures += 1
            self._counts.failed_starts += 1
            self._last_failure = why
            many = self._failures >= self._terms.workers + _MORE_FAILURES
            hopeless = for_good or (many and not self._assigned.workers)
            self._changed.notify_all()
        _LOG.warning("a worker of the pool could not be started: %s", why)
        if hopeless:
            self.give_up(why)
        return not hopeless

    def give_up(self, why: str, *, unheard: bool = False) -> None:
        """No worker can be had: what waits fails, and what workers were given, too, if nobody hears them."""
        with self._changed:
            if self._broken is None:
                self._broken = PoolBrokenError(f"no worker of the pool can be started: {why}")
                self._starting.clear()
                for worker in self._assigned.workers.values():
                    self._end(worker, self._broken)
                self._closing = True
                self._changed.notify_all()
            lost = list(self._assigned.waiting)
            self._assigned.waiting.clear()
            if unheard:
                given = [task for worker in self._assigned.workers.values() for task in worker.given]
                lost += [task for task in given if not task.future.done()]
                self._assigned.workers.clear()
        for task in lost:
            self.settle(task, error=PoolBrokenError(str(self._broken)))
        self._wake()

    def stop_worker(self, worker: Worker, error: BaseException) -> None:
        """Kill a worker for what it does to the machine; what it runs fails with this error."""
        with self._lock:
            if self._assigned.workers.get(worker.place) is worker:
                self._end(worker, error)

    def retire(self, worker: Worker) -> None:
        """Have a worker replaced when it has done what it has begun."""
        with self._lock:
            if self._assigned.workers.get(worker.place) is worker and worker.takes_more:
                self._counts.recycled += 1
                worker.takes_more, worker.leaves = False, "max-memory"
                self._assigned.take_back(worker)
                self._assigned.feed(worker)

    def died(self, worker: Worker, error: BaseException) -> None:
        """A worker has ended: what it had begun fails, and what it had not goes to others."""
        failed: list[tuple[Task, BaseException]] = []
        with self._changed:
            begun = self._assigned.remove(worker)
            is_ours = all(task.stopped is not None for task in begun) and worker.leaves
            self._counts.ended += 1
            self._counts.ends[is_ours or "died"] += 1
            for task in begun:
                if task.stopped is None:
                    self._counts.died += 1
                if task.stopped is not None or task.retries == 0:
                    failed.append((task, task.stopped or error))
                    continue
                task.retries -= 1
                task.future.attempts += (error,)
                self._counts.retried += 1
                _LOG.warning("a task is done again, because %s", error)
                self._assigned.waiting.appendleft(task)
            self._assigned.give_out()
            self._let_go_when_done()
            self._changed.notify_all()
        for task, why in failed:
            self.settle(task, error=why)
        self.staff()

    def _end(self, worker: Worker, why: BaseException) -> None:
        """Kill a worker, with what it has begun and with nothing else."""
        self._assigned.take_back(worker)
        for task in worker.given:
            task.stopped = task.stopped or why
        worker.takes_more, worker.leaves = False, "shutdown" if self._closing else kind(why)
        worker.kill()

    def _let_go_when_done(self) -> None:
        """Let the workers go, when nothing is left for them to do."""
        if self._closing and not self._assigned.waiting and not self._assigned.running:
            for worker in self._assigned.workers.values():
                worker.takes_more, worker.leaves = False, worker.leaves or "shutdown"
                worker.finish()
            self._wake()

    # --- what becomes of tasks ---

    def answered(self, worker: Worker, answers: Sequence[tuple[int, float]]) -> list[Task]:
        """A worker has done tasks, which are handed out to be settled; it is given what waits."""
        with self._lock:
            done = self._assigned.answered(worker, answers)
            self._counts.seconds += sum(seconds for _, seconds in answers)
            if self._terms.max_queue is not None:
                self._changed.notify_all()
            if self._closing:
                self._let_go_when_done()
            return done

    def cleared(self, worker: Worker) -> None:
        """A worker has thrown away what was taken back from it."""
        with self._lock:
            worker.is_clearing = False
            self._assigned.feed(worker)

    def next_deadline(self) -> float | None:
        """When there is something to be seen to at the latest."""
        if not self._assigned.timed and self._last_chance is None:
            return None
        with self._lock:
            moments = (self._assigned.next_deadline(), self._last_chance)
            return min((moment for moment in moments if moment is not None), default=None)

    def see_to_deadlines(self) -> None:
        """End what has run too long."""
        if not self._assigned.timed and self._last_chance is None:
            return
        with self._lock:
            for worker in self._assigned.overdue():
                ran = f"the task has run for {worker.given[0].timeout:g} s"
                self._end(worker, TaskTimeoutError(f"{ran}, and its worker (pid {worker.pid}) was killed"))
            if self._last_chance is None or not (self._counts.started or monotonic() >= self._last_chance):
                return
        self.close(cancel=True)
        self._last_chance = None

    @property
    def many_wait(self) -> bool:
        """Whether what is submitted now will wait behind others for a while."""
        return len(self._assigned.waiting) > _MANY

    def settle(self, task: Task, value: object = None, error: BaseException | None = None) -> None:
        """Tell a task's caller how it ended, and count it."""
        if error is None:
            self._counts.done += 1
        else:
            with self._lock:
                self._counts.failed += 1
                self._counts.failures[kind(error)] += 1
        task.settle(value, error)
