"""Looks at what each worker of a pool holds, with all that it has started, and ends who holds too much."""

from __future__ import annotations

import threading

from coldfork.launch.pool.errors import MemoryCapError
from coldfork.launch.supervisor.limits import spoken, spoken_cap
from coldfork.launch.supervisor.watch import MemoryWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from coldfork.launch.pool.dispatcher import Dispatcher
    from coldfork.launch.pool.local.worker import LocalWorker

_MUCH = 0.75
"""Who holds more than this part of its cap is replaced when it has done what it is at."""


class WorkersMemory:
    """The thread that watches the memory of a pool's workers."""

    def __init__(self, most: int, dispatcher: Dispatcher, workers: Callable[[], list[LocalWorker]]) -> None:
        self._most = most
        self._dispatcher = dispatcher
        self._workers = workers
        self._watches: dict[LocalWorker, MemoryWatch] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="worker pool memory", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def end(self) -> None:
        """Watch no longer."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
            there = [worker for worker in self._workers() if worker.is_ready]
            self._watches = {worker: self._watches.get(worker) or MemoryWatch(self._most) for worker in there}
            pause = min((self._look(*each) for each in self._watches.items()), default=0.1)

    def _look(self, worker: LocalWorker, watch: MemoryWatch) -> float:
        """Look at one worker; returns how long it can be left alone."""
        if watch.look(worker.processes()):
            held = f"killed at {spoken(watch.held)} of {spoken_cap(self._most)}"
            said = f"the worker that ran the task (pid {worker.pid}) was {held} of memory"
            error = MemoryCapError(said, worker.pid, -9, "SIGKILL", worker.device, worker.output.last_lines())
            self._dispatcher.stop_worker(worker.place, error)
        elif watch.held > self._most * _MUCH:
            self._dispatcher.retire(worker.place)
        return watch.pause
