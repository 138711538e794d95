"""Which worker was given which task: what waits, what was given out, and what is given to whom next.

All of it is called with the lock of the dispatcher held, which is the only one that has it.
"""

from __future__ import annotations

from collections import deque
from time import monotonic

from coldfork.launch.pool.transport import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from coldfork.launch.pool.durations import Durations
    from coldfork.launch.pool.seats import Seat
    from coldfork.launch.pool.tasks import Task

_SECONDS_AHEAD = 0.005
"""So much work a worker is given ahead, where tasks are so short that it would wait for the next one."""
_MOST_AHEAD = 256
_TOGETHER = 16
"""So many tasks are worth a message of their own while nobody waits for one."""


class Assignments:
    """The tasks of a pool that have not ended, and the workers that are ready for them."""

    def __init__(self, max_tasks: int | None, wake: Callable[[], None]) -> None:
        """`wake` is called when a deadline comes sooner than every other."""
        self.waiting: deque[Task] = deque()
        self.seats: dict[int, Seat] = {}
        """The workers, by their places."""
        self.running: dict[int, Seat] = {}
        """Who has the tasks that were given out, by their numbers."""
        self.timed = 0
        """So many workers do something that may run only so long."""
        self.durations: Durations | None = None
        """Where they are counted, if somebody has asked."""
        self._max_tasks = max_tasks
        self._wake = wake
        self._idle: list[Seat] = []
        self._ahead = 1
        self._pace = 1.0
        """How long tasks have taken lately."""

    # --- giving out ---

    def add(self, task: Task) -> None:
        """Take a task on, and give it to a worker that has nothing to do."""
        self.waiting.append(task)
        if self._idle or (self._ahead > 1 and not len(self.waiting) % _TOGETHER):
            self.give_out()

    def give_out(self) -> None:
        """Give what waits to whoever can begin with it, or is quick enough to come to it soon."""
        while self._idle and self.waiting:
            self.feed(self._idle.pop())
        if self._ahead > 1 and len(self.waiting) >= _TOGETHER:
            for seat in self.seats.values():
                if seat.takes_more and len(seat.given) <= self._ahead // 2:
                    self.feed(seat)

    def feed(self, seat: Seat) -> None:
        """Give a worker what waits, as much as it may have; it ends if it may have no more."""
        if seat.is_clearing:
            # It throws away all that it is sent before it has said that it is clear.
            return
        while self.waiting and seat.takes_more:
            batch = self._batch(seat)
            if not batch or not self._give(seat, batch):
                break
        if seat.given:
            return
        if not seat.takes_more:
            seat.worker.finish()
            self._wake()
            return
        self._take_from_others(seat)
        if seat.is_free and seat not in self._idle:
            self._idle.append(seat)

    def _batch(self, seat: Seat) -> list[Task]:
        """What a worker is given next: one task if it may run only so long, several if they are quick."""
        room = self._ahead - len(seat.given)
        if seat.given and (room <= 0 or seat.given[0].timeout is not None):
            return []
        if self._max_tasks is not None:
            room = min(room, self._max_tasks - seat.taken)
        batch: list[Task] = []
        while self.waiting and len(batch) < max(room, 1):
            task = self.waiting[0]
            if task.timeout is not None and (batch or seat.given):
                break
            self.waiting.popleft()
            if not task.begun and not task.future.set_running_or_notify_cancel():
                task.payload.close()
                continue
            task.begun = True
            batch.append(task)
            if task.timeout is not None:
                break
        fit = wire.together(batch)
        self.waiting.extendleft(reversed(batch[fit:]))
        return batch[:fit]

    def _give(self, seat: Seat, batch: list[Task]) -> bool:
        """Give tasks to a worker; False, and they wait again, if they could not be sent just now."""
        if not seat.worker.give(batch):
            self.waiting.extendleft(reversed(batch))
            if not seat.given and not seat.is_clearing:
                # What was taken back from it is still on its way to it.
                seat.is_clearing = True
                seat.worker.clear()
            return False
        pid, device = seat.pid, seat.worker.device
        for task in batch:
            task.future.worker, task.future.device = pid, device
            self.running[task.number] = seat
        seat.given.extend(batch)
        seat.taken += len(batch)
        if self._max_tasks is not None and seat.taken >= self._max_tasks:
            seat.takes_more, seat.leaves = False, seat.leaves or "max-tasks"
        if self.durations is not None:
            self._count_waits(batch, self.durations)
        if batch[0].timeout is not None:
            # It is alone: what may run only so long is given to nobody who has something else to do.
            seat.deadline = monotonic() + batch[0].timeout
            self.timed += 1
            self._wake()
        return True

    def _count_waits(self, batch: list[Task], durations: Durations) -> None:
        now = monotonic()
        for task in batch:
            if task.submitted is not None:
                durations.waits.add(now - task.submitted)
                # What is taken back from a worker has waited once.
                task.submitted = None

    def _take_from_others(self, idle: Seat) -> None:
        """Give a worker that has nothing to do what others were given ahead and have not come to."""
        most = max(self.seats.values(), key=len, default=idle)
        if len(most) < 2:
            return
        self.take_back(most, len(most) // 2)
        batch = self._batch(idle)
        if batch:
            self._give(idle, batch)

    def take_back(self, seat: Seat, most: int | None = None) -> None:
        """Let a worker's tasks wait again that it has not come to, those first that it would do next."""
        numbers = set(seat.worker.take_back(most))
        if wire.CLEAR in numbers:
            numbers.remove(wire.CLEAR)
            seat.worker.clear()
        if numbers:
            back = [task for task in seat.given if task.number in numbers]
            seat.given = deque(task for task in seat.given if task.number not in numbers)
            seat.taken -= len(back)
            for number in numbers:
                del self.running[number]
            self.waiting.extendleft(reversed(back))

    # --- what becomes of it ---

    def answered(self, seat: Seat, answers: Sequence[tuple[int, float]]) -> list[Task]:
        """A worker has done tasks, each in so many seconds; it is given what waits."""
        done = []
        if self.durations is not None:
            for _, seconds in answers:
                self.durations.tasks.add(seconds)
        for number, seconds in answers:
            task = seat.given.popleft()
            assert task.number == number, "a worker does its tasks in their order"
            del self.running[number]
            self._pace += (seconds - self._pace) / 8
            done.append(task)
        self._forget_deadline(seat)
        self._ahead = min(_MOST_AHEAD, max(1, int(_SECONDS_AHEAD / max(self._pace, 1e-6))))
        if len(seat.given) <= self._ahead // 2:
            self.feed(seat)
        return done

    def remove(self, place: int) -> list[Task]:
        """A worker has ended: what it had begun with is handed out, and the rest waits again."""
        seat = self.seats.pop(place)
        self.take_back(seat)
        self._forget_deadline(seat)
        if seat in self._idle:
            self._idle.remove(seat)
        begun = list(seat.given)
        seat.given.clear()
        for task in begun:
            del self.running[task.number]
        return begun

    def next_deadline(self) -> float | None:
        """When a task that runs will have run too long."""
        return min((seat.deadline for seat in self.seats.values() if seat.deadline is not None), default=None)

    def overdue(self) -> list[Seat]:
        """The workers whose tasks have run too long by now; each is said once."""
        now = monotonic()
        late = [seat for seat in self.seats.values() if seat.deadline is not None and seat.deadline <= now]
        for seat in late:
            self._forget_deadline(seat)
        return late

    def _forget_deadline(self, seat: Seat) -> None:
        if seat.deadline is not None:
            seat.deadline = None
            self.timed -= 1
