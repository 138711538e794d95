"""A worker as the dispatcher sees it: what it was given, and whether it takes more."""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from coldfork.launch.pool.tasks import Task

    class Worker(Protocol):
        """What a crew has started."""

        @property
        def pid(self) -> int:
            """Its process."""

        @property
        def device(self) -> str | None:
            """The device that it was given."""

        def give(self, tasks: Sequence[Task]) -> bool:
            """Send it tasks, those that fit together; False if there is no room for more just now."""

        def take_back(self, most: int | None = None) -> list[int]:
            """Take tasks from it that it has not come to, in their order, and return their numbers."""

        def clear(self) -> None:
            """Have it throw away what was taken back, which leaves no room for more."""

        def kill(self) -> None:
            """End it and all that it has started."""

        def finish(self) -> None:
            """Let it end, for no more tasks come."""

    class Crew(Protocol):
        """What starts workers for a dispatcher."""

        def start(self, place: int) -> None:
            """Start a worker for one of the places, by and by."""

        def wake(self) -> None:
            """There is something to be seen to: a deadline that comes sooner, or the end."""


class Seat:
    """One worker and its tasks."""

    __slots__ = (
        "deadline",
        "given",
        "is_clearing",
        "leaves",
        "pid",
        "place",
        "taken",
        "takes_more",
        "worker",
    )

    def __init__(self, place: int, worker: Worker) -> None:
        self.place = place
        self.worker = worker
        self.pid = worker.pid
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

    @property
    def is_free(self) -> bool:
        """Whether it has nothing to do, and would begin at once with what it is given."""
        return not (self.given or self.is_clearing)

    def __len__(self) -> int:
        return len(self.given)
