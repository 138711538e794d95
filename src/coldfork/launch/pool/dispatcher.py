"""The life of a pool: tasks that are taken on, workers that come and go, and the end of each and of all.

It knows nothing of processes. A crew starts workers, says what becomes of them, and is told by `wake` when it
is to look at the clock. Whoever submits a task gives it to a worker that has nothing to do right away.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from logging import getLogger
from time import monotonic

from coldfork.launch.pool.assignments import Assignments
from coldfork.launch.pool.durations import Durations
from coldfork.launch.pool.errors import PoolBrokenError, TaskKilledError, TaskTimeoutError, kind
from coldfork.launch.pool.health import Counts, PoolHealth
from coldfork.launch.pool.outcomes import Outcomes
from coldfork.launch.pool.seats import Seat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from coldfork.launch.pool.seats import Crew, Worker
    from coldfork.launch.pool.tasks import Task

_LOG = getLogger("coldfork")
_MORE_FAILURES = 2
"""So many more starts than there are workers may fail in a row, while none is ready, until it is hopeless."""
_LONGEST_START = 5.0
"""So long the first task of a pool waits for a worker when all is cancelled."""
_MANY = 16


class Dispatcher:
    """The tasks of one pool and the workers that it has."""

    def __init__(self, crew: Crew, workers: int, *, max_tasks: int | None, max_queue: int | None) -> None:
        self._crew = crew
        self._workers = workers
        self._max_queue = max_queue
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._assigned = Assignments(max_tasks, crew.wake)
        self._starting: set[int] = set()
        self._failures = 0
        self._last_failure = ""
        self._broken: PoolBrokenError | None = None
        self._closing = False
        self._last_chance: float | None = None
        """Until then the first worker may still come, though what waits was cancelled."""
        self._counts = Counts()
        self._outcomes = Outcomes(self._counts, self._lock)

    # --- what callers ask ---

    def submit(self, task: Task) -> None:
        """Take a task on; `RuntimeError`, as of every executor, after the end."""
        with self._lock:
            self._check()
            while self._max_queue is not None and len(self._assigned.waiting) >= self._max_queue:
                self._changed.wait()
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
            seat = self._assigned.running.get(task.number)
            if seat is not None:
                self._stop(seat, task, TaskKilledError(f"the task was killed in process {seat.pid}"))
                return True
            # It waits once more, because its worker died or was busy; or its answer is here.
            if task not in self._assigned.waiting:
                return False
            self._assigned.waiting.remove(task)
        self.settle(task, error=TaskKilledError("the task was killed before it had begun"))
        return True

    def close(self, *, cancel: bool, kill: bool = False) -> None:
        """Take nothing on any more; the workers end when nothing is left to do."""
        dropped: list[Task] = []
        with self._changed:
            self._closing = True
            if kill:
                self._end_workers(TaskKilledError("the pool was ended while the task ran"))
            waiting = self._assigned.waiting
            if cancel or kill:
                dropped = [task for task in waiting if kill or not task.begun]
                if dropped and not (kill or self._counts.started or self._last_chance is not None):
                    # Another executor would have begun by now, and who has submitted this relies on it.
                    del dropped[0]
                    self._last_chance = monotonic() + _LONGEST_START
                for task in dropped:
                    waiting.remove(task)
            self._let_go_when_done()
            self._changed.notify_all()
        self._outcomes.drop(dropped)
        self._crew.wake()

    def await_workers(self, wanted: int, timeout: float | None) -> bool:
        """Wait until so many are ready; False when the time is up, `PoolBrokenError` when none will be."""
        with self._changed:
            seats = self._assigned.seats
            self._changed.wait_for(lambda: self._broken is not None or len(seats) >= wanted, timeout)
            if self._broken is not None:
                raise PoolBrokenError(str(self._broken))
            return len(seats) >= wanted

    def health(self) -> PoolHealth:
        """How the pool stands."""
        with self._lock:
            seats = self._assigned.seats
            return PoolHealth(
                workers=self._workers,
                warm=len(seats),
                busy=sum(1 for seat in seats.values() if seat.given),
                starting=len(self._starting),
                waiting=len(self._assigned.waiting),
                failures=self._failures,
                last_failure=self._last_failure,
                broken=self._broken is not None,
                closed=self._closing,
                pids=tuple(seat.pid for _, seat in sorted(seats.items())),
                counts=self._counts.copied(),
            )

    def measure(self) -> Durations:
        """Count durations from now on, or go on with it; where they are counted."""
        with self._lock:
            durations = self._assigned.durations = self._assigned.durations or Durations()
            return durations

    # --- workers that come and go ---

    def staff(self) -> None:
        """Have as many workers started as there ought to be."""
        with self._lock:
            if self._broken is not None or (self._closing and not self._assigned.waiting):
                return
            there = self._assigned.seats.keys() | self._starting
            missing = [place for place in range(self._workers) if place not in there]
            self._starting.update(missing)
        for place in missing:
            self._crew.start(place)

    def ready(self, place: int, worker: Worker, seconds: float) -> None:
        """A worker is ready for tasks."""
        with self._changed:
            self._starting.discard(place)
            self._failures = 0
            self._counts.started += 1
            self._counts.start_seconds += seconds
            if self._assigned.durations is not None:
                self._assigned.durations.starts.add(seconds)
            seat = self._assigned.seats[place] = Seat(place, worker)
            self._assigned.feed(seat)
            self._let_go_when_done()
            self._changed.notify_all()

    def failed_to_start(self, place: int, why: str, *, for_good: bool = False) -> bool:
        """A worker could not be started; whether it is worth another attempt."""
        with self._changed:
            self._starting.discard(place)
            self._failures += 1
            self._counts.failed_starts += 1
            self._last_failure = why
            many = self._failures >= self._workers + _MORE_FAILURES
            hopeless = for_good or (many and not self._assigned.seats)
            self._changed.notify_all()
        _LOG.warning("a worker of the pool could not be started: %s", why)
        if hopeless:
            self.give_up(why)
        return not hopeless

    def give_up(self, why: str) -> None:
        """No worker can be had: everything that had not ended fails."""
        with self._changed:
            if self._broken is not None:
                return
            self._broken = PoolBrokenError(f"no worker of the pool can be started: {why}")
            self._starting.clear()
            self._end_workers(self._broken)
            lost = list(self._assigned.waiting)
            self._assigned.waiting.clear()
            self._closing = True
            self._changed.notify_all()
        for task in lost:
            self.settle(task, error=PoolBrokenError(str(self._broken)))
        self._crew.wake()

    def lose_all(self) -> None:
        """Nobody hears the workers any more, after the pool was given up: what they were given fails."""
        with self._lock:
            lost = [task for seat in self._assigned.seats.values() for task in seat.given]
            self._assigned.seats.clear()
        for task in lost:
            if not task.future.done():
                self.settle(task, error=PoolBrokenError(str(self._broken)))

    def stop_worker(self, place: int, error: BaseException) -> None:
        """Kill a worker for what it does to the machine; what it runs fails with this error."""
        with self._lock:
            seat = self._assigned.seats.get(place)
            if seat is not None:
                self._assigned.take_back(seat)
                self._end(seat, error)

    def retire(self, place: int) -> None:
        """Have a worker replaced when it has done what it has begun."""
        with self._lock:
            seat = self._assigned.seats.get(place)
            if seat is not None and seat.takes_more:
                self._counts.recycled += 1
                seat.takes_more, seat.leaves = False, "max-memory"
                self._assigned.take_back(seat)
                self._assigned.feed(seat)

    def died(self, place: int, error: BaseException) -> None:
        """A worker has ended: what it had begun fails, and what it had not goes to others."""
        failed: list[tuple[Task, BaseException]] = []
        with self._changed:
            leaves = self._assigned.seats[place].leaves
            begun = self._assigned.remove(place)
            self._counts.ended += 1
            if not leaves or any(task.stopped is None for task in begun):
                leaves = "died"
            self._counts.ends[leaves] += 1
            for task in begun:
                if task.stopped is not None:
                    failed.append((task, task.stopped))
                    continue
                self._counts.died += 1
                if task.retries > 0:
                    self._try_again(task, error)
                else:
                    failed.append((task, error))
            self._assigned.give_out()
            self._let_go_when_done()
            self._changed.notify_all()
        for task, why in failed:
            self.settle(task, error=why)
        self.staff()

    def _try_again(self, task: Task, error: BaseException) -> None:
        task.retries -= 1
        task.future.attempts += (error,)
        self._counts.retried += 1
        _LOG.warning("a task is done again, because %s", error)
        self._assigned.waiting.appendleft(task)

    def _stop(self, seat: Seat, task: Task, why: BaseException) -> None:
        self._assigned.take_back(seat)
        if task in seat.given:
            self._end(seat, why)
        else:
            # It had not begun with it.
            with suppress(ValueError):
                self._assigned.waiting.remove(task)
            self._assigned.feed(seat)
            self.settle(task, error=why)

    def _end_workers(self, why: BaseException) -> None:
        for seat in self._assigned.seats.values():
            # What a worker was given and has not come to would wait for the next one, and there is none.
            self._assigned.take_back(seat)
            self._end(seat, why)

    def _end(self, seat: Seat, why: BaseException) -> None:
        for task in seat.given:
            task.stopped = task.stopped or why
        seat.takes_more, seat.leaves = False, "shutdown" if self._closing else kind(why)
        seat.worker.kill()

    def _let_go_when_done(self) -> None:
        """Let the workers go, when nothing is left for them to do."""
        if self._closing and not self._assigned.waiting and not self._assigned.running:
            for seat in self._assigned.seats.values():
                seat.takes_more, seat.leaves = False, seat.leaves or "shutdown"
                seat.worker.finish()
            self._crew.wake()

    # --- what becomes of tasks ---

    def answered(self, place: int, answers: Sequence[tuple[int, float]]) -> list[Task]:
        """A worker has done tasks, which are handed out to be settled; it is given what waits."""
        with self._lock:
            done = self._assigned.answered(self._assigned.seats[place], answers)
            self._counts.seconds += sum(seconds for _, seconds in answers)
            if self._max_queue is not None:
                self._changed.notify_all()
            if self._closing:
                self._let_go_when_done()
            return done

    def cleared(self, place: int) -> None:
        """A worker has thrown away what was taken back from it."""
        with self._lock:
            seat = self._assigned.seats[place]
            seat.is_clearing = False
            self._assigned.feed(seat)

    @property
    def has_deadlines(self) -> bool:
        """Whether any task that was given out may run only so long."""
        return self._assigned.timed > 0 or self._last_chance is not None

    def next_deadline(self) -> float | None:
        """When there is something to be seen to at the latest."""
        with self._lock:
            moments = (self._assigned.next_deadline(), self._last_chance)
            return min((moment for moment in moments if moment is not None), default=None)

    def see_to_deadlines(self) -> None:
        """End what has run too long."""
        with self._lock:
            for seat in self._assigned.overdue():
                ran = f"the task has run for {seat.given[0].timeout:g} s"
                self._end(seat, TaskTimeoutError(f"{ran}, and its worker (pid {seat.pid}) was killed"))
            if self._last_chance is None or not (self._counts.started or monotonic() >= self._last_chance):
                return
        self.close(cancel=True)
        self._last_chance = None

    @property
    def many_wait(self) -> bool:
        """Whether what is submitted now will wait behind others for a while."""
        return len(self._assigned.waiting) > _MANY

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to be done, and nobody to do it."""
        with self._lock:
            return self._closing and not (self._assigned.seats or self._assigned.waiting)

    def settle(self, task: Task, value: object = None, error: BaseException | None = None) -> None:
        """Tell a task's caller how it ended."""
        self._outcomes.settle(task, value, error)
