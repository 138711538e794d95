"""Keep track of tasks and workers: the waiting tasks, each worker's tasks, and the next task's worker.

Only the pool's thread calls it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from time import monotonic

from coldfork.launch.pool import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from coldfork.launch.pool.health import Durations
    from coldfork.launch.pool.task import Task

_SECONDS_AHEAD = 0.005
"""A worker gets this much work ahead if tasks are so short that it would have to wait for the next one."""
_MOST_AHEAD = 256
_TOGETHER = 16
"""While no worker is idle, tasks are sent in messages of at least this many."""


class Worker(ABC):
    """A worker as the dispatcher sees it: its tasks, and whether it accepts more."""

    pid: int
    """The process ID."""
    device: str | None = None
    """The device that was assigned to the worker."""

    def __init__(self, place: int) -> None:
        self.place = place
        """Its number among the pool's workers; a worker that replaces it takes over the number."""
        self.asked: float = monotonic()
        """When the worker's start was requested."""
        self.given: deque[Task] = deque()
        """The tasks that the worker has and has not answered, in the order in which it runs them."""
        self.taken = 0
        """How many tasks it has been given so far."""
        self.takes_more = True
        self.deadline: float | None = None
        """When its current task exceeds its timeout."""
        self.leaves = ""
        """Why the worker ends, if the pool ends it."""
        self.is_clearing = False
        """Whether the worker is discarding tasks that were taken back; until that is done it accepts no
        others.
        """
        self.finishing_since: float | None = None

    @abstractmethod
    def give(self, tasks: Sequence[Task]) -> bool:
        """Send the worker as many of these tasks as fit together; False if there is no room just now."""

    def handing(self, task: Task) -> Sequence[tuple[Any, ...]]:
        """Return C functions, with arguments, that give the worker this task; none if it accepts no more."""
        return ()

    @abstractmethod
    def take_back(self, most: int | None = None) -> list[int]:
        """Take back tasks that the worker has not reached; return their numbers in order."""

    @abstractmethod
    def clear(self) -> None:
        """Have the worker discard the tasks that were taken back, if they leave no room for others."""

    @abstractmethod
    def kill(self) -> None:
        """Kill the worker and every process that it has started."""

    @abstractmethod
    def finish(self) -> None:
        """Let the worker end, because no more tasks will come."""


class Assignments:
    """The unfinished tasks of a pool, and the workers that are ready for tasks."""

    def __init__(self, max_tasks: int | None, wake: Callable[[], None]) -> None:
        """`wake` is called when a task gets a deadline that is earlier than all others."""
        self.waiting: deque[Task] = deque()
        self.workers: dict[int, Worker] = {}
        """The workers by place."""
        self.running: dict[int, Worker] = {}
        """The worker of each assigned task, by the task's number."""
        self.timed: int = 0
        """The number of workers that run a task with a timeout."""
        self.durations: Durations | None = None
        """Counts of durations, if anyone has asked for them."""
        self._max_tasks = max_tasks
        self._wake = wake
        self.idle: dict[Worker, None] = {}
        """The idle workers. A caller that removes one may give it a task itself."""
        self._ahead = 1
        self._pace = 1.0
        """How long recent tasks have taken."""

    # --- giving out ---

    def add(self, task: Task) -> None:
        """Accept a task, and give it to an idle worker if there is one."""
        self.waiting.append(task)
        if self.idle or (self._ahead > 1 and not len(self.waiting) % _TOGETHER):
            self.give_out()

    def given_at_once(self, worker: Worker, task: Task) -> None:
        """Record that a caller has given a task directly to this worker, bypassing the queue."""
        worker.given.append(task)
        self._note([task], worker)

    def unsent(self, worker: Worker, task: Task) -> None:
        """Put a task back in the queue that a caller tried, and failed, to give to a worker directly."""
        if task in worker.given:
            worker.given.remove(task)
            worker.taken -= 1
            del self.running[task.number]
            self.waiting.appendleft(task)
        self.give_out()
        if self.workers.get(worker.place) is worker:
            self.feed(worker)

    def give_out(self) -> None:
        """Give waiting tasks to workers that are idle, or soon will be."""
        while self.waiting and (worker := self._any_idle()):
            self.feed(worker)
        if self._ahead > 1 and len(self.waiting) >= _TOGETHER:
            for worker in self.workers.values():
                if worker.takes_more and len(worker.given) <= self._ahead // 2 and self._is_free(worker):
                    self.feed(worker)

    def _any_idle(self) -> Worker | None:
        try:
            return self.idle.popitem()[0]
        except KeyError:
            return None

    def _is_free(self, worker: Worker) -> bool:
        """Return whether the pool's thread may give a worker tasks, and no caller is doing so."""
        if worker.given:
            return True
        return worker in self.idle and self.idle.pop(worker, self) is None

    def feed(self, worker: Worker) -> None:
        """Give a worker as many waiting tasks as it may have; end it if it may have no more tasks."""
        if worker.is_clearing:
            # Until the worker reports that it is clear, it discards every task that it receives.
            return
        while self.waiting and worker.takes_more:
            batch = self._batch(worker)
            if not batch or not self._give(worker, batch):
                break
        if worker.given:
            return
        if not worker.takes_more:
            worker.finish()
            self._wake()
            return
        self._take_from_others(worker)
        if not (worker.given or worker.is_clearing):
            self.idle[worker] = None

    def _batch(self, worker: Worker) -> list[Task]:
        """Return the next tasks for a worker: just one if it has a timeout, several if tasks are quick."""
        room = self._ahead - len(worker.given)
        if worker.given and (room <= 0 or worker.given[0].timeout is not None):
            return []
        if self._max_tasks is not None:
            room = min(room, self._max_tasks - worker.taken)
        batch: list[Task] = []
        while self.waiting and len(batch) < max(room, 1):
            task = self.waiting[0]
            if task.timeout is not None and (batch or worker.given):
                break
            self.waiting.popleft()
            if not task.begun and not task.future.set_running_or_notify_cancel():
                task.payload.close()
                continue
            task.begun, task.is_on_its_way = True, False
            batch.append(task)
            if task.timeout is not None:
                break
        fit = wire.together(batch)
        self.waiting.extendleft(reversed(batch[fit:]))
        return batch[:fit]

    def _give(self, worker: Worker, batch: list[Task]) -> bool:
        """Send tasks to a worker; if there is no room just now, queue them again and return False."""
        if not worker.give(batch):
            self.waiting.extendleft(reversed(batch))
            if not worker.given and not worker.is_clearing:
                # The worker's pipe is still full of tasks that were taken back.
                worker.is_clearing = True
                worker.clear()
            return False
        worker.given.extend(batch)
        self._note(batch, worker)
        if batch[0].timeout is not None:
            # A task with a timeout is never queued behind another one in a worker, so its time begins now.
            worker.deadline = monotonic() + batch[0].timeout
            self.timed += 1
            self._wake()
        return True

    def _note(self, batch: Sequence[Task], worker: Worker) -> None:
        """Record that this worker now has these tasks."""
        pid, device = worker.pid, worker.device
        for task in batch:
            task.future.worker, task.future.device = pid, device
            self.running[task.number] = worker
        worker.taken += len(batch)
        if self._max_tasks is not None and worker.taken >= self._max_tasks:
            worker.takes_more, worker.leaves = False, worker.leaves or "max-tasks"
        if self.durations is not None:
            self._count_waits(batch, self.durations)

    def _count_waits(self, batch: Sequence[Task], durations: Durations) -> None:
        now = monotonic()
        for task in batch:
            if task.submitted is not None:
                durations.waits.add(now - task.submitted)
                # A task that was taken back and assigned again must not be counted as waiting twice.
                task.submitted = None

    def _take_from_others(self, idle: Worker) -> None:
        """Give an idle worker tasks that others have been given ahead but have not begun."""
        most = max(self.workers.values(), key=lambda worker: len(worker.given), default=idle)
        if len(most.given) < 2:
            return
        self.take_back(most, len(most.given) // 2)
        batch = self._batch(idle)
        if batch:
            self._give(idle, batch)

    def take_back(self, worker: Worker, most: int | None = None) -> None:
        """Put the tasks that a worker has not begun back at the front of the queue, in the same order."""
        numbers = set(worker.take_back(most))
        if wire.CLEAR in numbers:
            numbers.remove(wire.CLEAR)
            worker.clear()
        if numbers:
            back = [task for task in worker.given if task.number in numbers]
            worker.given = deque(task for task in worker.given if task.number not in numbers)
            worker.taken -= len(back)
            for number in numbers:
                del self.running[number]
            self.waiting.extendleft(reversed(back))

    def withdraw(self, task: Task) -> bool:
        """Take a task out of the queue; False if the task is not in the queue."""
        if task not in self.waiting:
            return False
        self.waiting.remove(task)
        return True

    # --- how tasks end ---

    def answered(self, worker: Worker, answers: Sequence[tuple[int, float]]) -> list[Task]:
        """Record the tasks that a worker has done, with their seconds, and give it waiting ones."""
        done = []
        if self.durations is not None:
            for _, seconds in answers:
                self.durations.tasks.add(seconds)
        for number, seconds in answers:
            task = worker.given.popleft()
            assert task.number == number, "a worker does its tasks in their order"
            del self.running[number]
            self._pace += (seconds - self._pace) / 8
            done.append(task)
        self._forget_deadline(worker)
        self._ahead = min(_MOST_AHEAD, max(1, int(_SECONDS_AHEAD / max(self._pace, 1e-6))))
        if len(worker.given) <= self._ahead // 2:
            self.feed(worker)
        return done

    def remove(self, worker: Worker) -> list[Task]:
        """Remove an ended worker: return the tasks that it had begun, and queue its others again."""
        del self.workers[worker.place]
        self.take_back(worker)
        self._forget_deadline(worker)
        self.idle.pop(worker, None)
        begun = list(worker.given)
        worker.given.clear()
        for task in begun:
            del self.running[task.number]
        return begun

    def next_deadline(self) -> float | None:
        """Return the earliest time at which a running task will exceed its timeout; None if none has one."""
        deadlines = (worker.deadline for worker in self.workers.values())
        return min((moment for moment in deadlines if moment is not None), default=None)

    def overdue(self) -> list[Worker]:
        """Return the workers whose tasks have exceeded their timeouts, each once."""
        now = monotonic()
        workers = self.workers.values()
        late = [worker for worker in workers if worker.deadline is not None and worker.deadline <= now]
        for worker in late:
            self._forget_deadline(worker)
        return late

    def _forget_deadline(self, worker: Worker) -> None:
        if worker.deadline is not None:
            worker.deadline = None
            self.timed -= 1
