"""A worker as its pool's process sees it: the handle of an actor, its tasks, and why it ended."""

from __future__ import annotations

import re
import threading
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from time import monotonic

from coldfork.launch.pool.assignments import Worker
from coldfork.launch.pool.errors import WorkerDiedError
from coldfork.launch.pool.on_ray.actor import sent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from coldfork.launch.pool.on_ray.actor import Whereabouts
    from coldfork.launch.pool.on_ray.cluster import Connection
    from coldfork.launch.pool.task import Task

    Heard = Callable[["RayWorker", Future[Any]], None]
    Post = Callable[[Callable[[], object]], None]

_HEADER = re.compile(r"^\s*(?:class_name|actor_id|pid|name|namespace|ip): .*\n?", re.MULTILINE)
"""The lines of Ray's message that identify the actor, in Ray's terms."""
_GUESSES = re.compile(r" *Some common causes include: .*", re.DOTALL)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LACKING = re.compile(r"ModuleNotFoundError: No module named 'coldfork'")
_DIED = "The actor died unexpectedly before finishing this task."
_BECAUSE = re.compile(r"^The actor (?:is dead because|died because|died:)\s*")
_UNAVAILABLE = re.compile(
    r"^The actor \w+ is unavailable: (.*)\. The task may or may not have been executed on the actor\.$",
    re.DOTALL,
)


class RayWorker(Worker):
    """A worker that is a Ray actor.

    Tasks that it is given ahead wait here, and are sent to the actor one at a time. So if the actor dies,
    only the task that was sent can have begun.
    """

    def __init__(self, place: int, actor: Any, connection: Connection, post: Post) -> None:
        """`post` runs a function in the backend's thread."""
        super().__init__(place)
        self.pid = 0
        self.at: Whereabouts | None = None
        """Where it runs, once it is ready."""
        self._actor = actor
        self._connection = connection
        self._post = post
        self._answered: Heard | None = None
        self._heard: Heard | None = None
        self._lock = threading.Lock()
        self._waiting: deque[Task] = deque()
        self._at_work: Task | None = None
        self._asked_after = False

    # --- called by the backend ---

    def prepare(self, preload: tuple[str, ...], initializer: bytes | None, heard: Heard) -> None:
        """Prepare the actor; `heard` is called with the outcome."""
        self._hear(self._actor.prepare.remote(preload, initializer), heard)

    def begin(self, at: Whereabouts, answered: Heard, heard: Heard) -> None:
        """Record that the actor is ready. `answered` is called after each task, `heard` after each check."""
        self.at, self._answered, self._heard = at, answered, heard
        self.pid: int = at.pid
        if at.devices:
            self.device: str | None = f"GPU {', '.join(at.devices)}"

    def next(self) -> int:
        """Return the number of the task that has just finished, and send the next one."""
        with self._lock:
            done = self._at_work
            task = self._at_work = self._waiting.popleft() if self._waiting else None
        if task is not None:
            self._send(task)
        assert done is not None
        return done.number

    def look(self) -> None:
        """Check the actor if it is idle; otherwise its death would go unnoticed."""
        with self._lock:
            if self._at_work is not None or self._asked_after:
                return
        self.ask_after()

    def ask_after(self) -> None:
        """Call the actor: its answer, or Ray's error, shows whether it is alive."""
        assert self._heard is not None
        if not self._connection.lasts():
            # The backend notices the lost connection on its next round.
            return
        self._asked_after = True
        try:
            self._hear(self._actor.look.remote(), self._heard)
        except Exception as error:
            self._fail(self._heard, error)

    def found(self) -> None:
        """Record that the actor is alive."""
        self._asked_after = False

    def died(self, error: BaseException) -> WorkerDiedError:
        """Make the error for the task that the actor was running."""
        assert self.at is not None
        return death(error, self.at, self.device)

    def dismiss(self) -> None:
        """End the actor, unless it has ended already."""
        self._connection.kill(self._actor)

    # --- called by the dispatcher, from any thread ---

    def give(self, tasks: Sequence[Task]) -> bool:
        """Give the worker tasks; if it is idle, the first is sent now."""
        with self._lock:
            self._waiting.extend(tasks)
            if self._at_work is not None:
                return True
            task = self._at_work = self._waiting.popleft()
        if task.payload.is_large:
            # Posted to the backend's thread: Ray copies the task before it returns, while this caller holds
            # the dispatcher's lock.
            self._post(partial(self._send, task))
        else:
            self._send(task)
        return True

    def take_back(self, most: int | None = None) -> list[int]:
        """Take back tasks that have not been sent to the actor."""
        with self._lock:
            count = len(self._waiting) if most is None else min(most, len(self._waiting))
            return [self._waiting.popleft().number for _ in range(count)]

    def clear(self) -> None:
        """Do nothing: tasks that were taken back were never sent."""

    def kill(self) -> None:
        """Kill the actor's process and its process group."""
        self.dismiss()
        # The end of a running task shows that the actor is dead; an idle actor must be asked.
        self._post(self.ask_after)

    def finish(self) -> None:
        """Let the worker end, because no more tasks come."""
        if self.finishing_since is None:
            self.finishing_since: float | None = monotonic()
            if self._connection.lasts():
                with suppress(Exception):
                    self._actor.__ray_terminate__.remote()
            self._post(self.ask_after)

    # --- calls of the actor ---

    def _send(self, task: Task) -> None:
        assert self._answered is not None
        if not self._connection.lasts():
            return
        try:
            ref = self._actor.work.remote(task.number, sent(task.payload))
        except Exception as error:
            self._fail(self._answered, error)
        else:
            self._hear(ref, self._answered)

    def _hear(self, ref: Any, heard: Heard) -> None:
        # Ray calls this in one of its own threads, which must not be blocked.
        ref.future().add_done_callback(lambda future: self._post(partial(heard, self, future)))

    def _fail(self, heard: Heard, error: Exception) -> None:
        future: Future[Any] = Future()
        future.set_exception(error)
        self._post(partial(heard, self, future))


def reason(error: BaseException) -> str:
    """Return why an actor ended, as Ray puts it but without boilerplate."""
    text = _COLOUR.sub("", str(error)).strip()
    unavailable = _UNAVAILABLE.match(text)
    if unavailable is not None:
        text = unavailable[1]
    text = _HEADER.sub("", text.removeprefix(_DIED).lstrip("\n"))
    text = _GUESSES.sub("", _BECAUSE.sub("", text)).strip()
    return text or type(error).__name__


def unready(error: BaseException) -> str:
    """Return why an actor ended before it was ready."""
    if _LACKING.search(str(error)):
        return (
            "the nodes of the Ray cluster cannot import coldfork; install the same version there as "
            'here, or let Ray do so: ray.init(runtime_env={"pip": ["coldfork"]})'
        )
    return f"an actor ended before it was ready; Ray says: {reason(error)}"


def death(error: BaseException, at: Whereabouts, device: str | None) -> WorkerDiedError:
    """Make the error for a task whose worker was ready, but died."""
    who = f"pid {at.pid} on node {at.node}"
    if device is not None:
        who += f", {device}"
    said = f"the worker that ran the task ({who}) was lost; Ray says: {reason(error)}"
    return WorkerDiedError(said, at.pid, device=device)
