"""Which worker was given which task: what waits, what was given out, and what is given to whom next.

All of it is called by the pool's thread.
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
"""So much work a worker is given ahead, where tasks are so short that it would wait for the next one."""
_MOST_AHEAD = 256
_TOGETHER = 16
"""So many tasks are worth a message of their own while nobody waits for one."""


class Worker(ABC):
    """A worker as the dispatcher sees it: what it was given, and whether it takes more."""

    pid: int
    """Its process."""
    device: str | None = None
    """The device that it was given."""

    def __init__(self, place: int) -> None:
        self.place = place
        """Its number among the workers of its pool, which whoever replaces it takes over."""
        self.asked: float = monotonic()
        """When somebody began to start it."""
        self.given: deque[Task] = deque()
        """What it has and has not answered, in its order."""
        self.taken = 0
        """So many tasks it has had."""
        self.takes_more = True
        self.deadline: float | None = None
        """When what it does will have run too long."""
        self.leaves = ""
        """Why it ends, where that is the pool's doing."""
        self.is_clearing = False
        """Whether it is throwing away what was taken back from it, and hears nothing else meanwhile."""
        self.finishing_since: float | None = None

    @abstractmethod
    def give(self, tasks: Sequence[Task]) -> bool:
        """Send it tasks, those that fit together; False if there is no room for more just now."""

    def handing(self, task: Task) -> Sequence[tuple[Any, ...]]:
        """Calls of C functions, with their arguments, that give it this task; none where it takes more."""
        return ()

    @abstractmethod
    def take_back(self, most: int | None = None) -> list[int]:
        """Take tasks from it that it has not come to, in their order, and return their numbers."""

    @abstractmethod
    def clear(self) -> None:
        """Have it throw away what was taken back, which leaves no room for more."""

    @abstractmethod
    def kill(self) -> None:
        """End it and all that it has started."""

    @abstractmethod
    def finish(self) -> None:
        """Let it end, for no more tasks come."""


class Assignments:
    """The tasks of a pool that have not ended, and the workers that are ready for them."""

    def __init__(self, max_tasks: int | None, wake: Callable[[], None]) -> None:
        """`wake` is called when a deadline comes sooner than every other."""
        self.waiting: deque[Task] = deque()
        self.workers: dict[int, Worker] = {}
        """The workers, by their places."""
        self.running: dict[int, Worker] = {}
        """Who has the tasks that were given out, by their numbers."""
        self.timed: int = 0
        """So many workers do something that may run only so long."""
        self.durations: Durations | None = None
        """Where they are counted, if somebody has asked."""
        self._max_tasks = max_tasks
        self._wake = wake
        self.idle: dict[Worker, None] = {}
        """Those that have nothing to do, whom a caller may give a task itself once it has taken them out."""
        self._ahead = 1
        self._pace = 1.0
        """How long tasks have taken lately."""

    # --- giving out ---

    def add(self, task: Task) -> None:
        """Take a task on, and give it to a worker that has nothing to do."""
        self.waiting.append(task)
        if self.idle or (self._ahead > 1 and not len(self.waiting) % _TOGETHER):
            self.give_out()

    def given_at_once(self, worker: Worker, task: Task) -> None:
        """A caller has given a worker this task, which waited nowhere."""
        worker.given.append(task)
        self._note([task], worker)

    def unsent(self, worker: Worker, task: Task) -> None:
        """Take back a task that a caller was about to give to a worker, and that has not come to it."""
        if task in worker.given:
            worker.given.remove(task)
            worker.taken -= 1
            del self.running[task.number]
            self.waiting.appendleft(task)
        self.give_out()
        if self.workers.get(worker.place) is worker:
            self.feed(worker)

    def give_out(self) -> None:
        """Give what waits to whoever can begin with it, or is quick enough to come to it soon."""
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
        """Whether a worker may be given something from here; not while a caller is at it."""
        if worker.given:
            return True
        return worker in self.idle and self.idle.pop(worker, self) is None

    def feed(self, worker: Worker) -> None:
        """Give a worker what waits, as much as it may have; it ends if it may have no more."""
        if worker.is_clearing:
            # It throws away all that it is sent before it has said that it is clear.
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
        """What a worker is given next: one task if it may run only so long, several if they are quick."""
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
        """Give tasks to a worker; False, and they wait again, if they could not be sent just now."""
        if not worker.give(batch):
            self.waiting.extendleft(reversed(batch))
            if not worker.given and not worker.is_clearing:
                # What was taken back from it is still on its way to it.
                worker.is_clearing = True
                worker.clear()
            return False
        worker.given.extend(batch)
        self._note(batch, worker)
        if batch[0].timeout is not None:
            # It is alone: what may run only so long is given to nobody who has something else to do.
            worker.deadline = monotonic() + batch[0].timeout
            self.timed += 1
            self._wake()
        return True

    def _note(self, batch: Sequence[Task], worker: Worker) -> None:
        """Note who has these now."""
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
                # What is taken back from a worker has waited once.
                task.submitted = None

    def _take_from_others(self, idle: Worker) -> None:
        """Give a worker that has nothing to do what others were given ahead and have not come to."""
        most = max(self.workers.values(), key=lambda worker: len(worker.given), default=idle)
        if len(most.given) < 2:
            return
        self.take_back(most, len(most.given) // 2)
        batch = self._batch(idle)
        if batch:
            self._give(idle, batch)

    def take_back(self, worker: Worker, most: int | None = None) -> None:
        """Let a worker's tasks wait again that it has not come to, those first that it would do next."""
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
        """Let a task wait no more; False if it does not."""
        if task not in self.waiting:
            return False
        self.waiting.remove(task)
        return True

    # --- what becomes of it ---

    def answered(self, worker: Worker, answers: Sequence[tuple[int, float]]) -> list[Task]:
        """A worker has done tasks, each in so many seconds; it is given what waits."""
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
        """A worker has ended: what it had begun with is handed out, and the rest waits again."""
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
        """When a task that runs will have run too long."""
        deadlines = (worker.deadline for worker in self.workers.values())
        return min((moment for moment in deadlines if moment is not None), default=None)

    def overdue(self) -> list[Worker]:
        """The workers whose tasks have run too long by now; each is said once."""
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
