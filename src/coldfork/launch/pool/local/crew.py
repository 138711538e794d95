"""The thread that hears the workers of a pool: their answers, their ends, and when one has run too long."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from functools import partial
from time import monotonic

from coldfork.launch.plumbing.loop import Loop, readable
from coldfork.launch.pool.answers import settle
from coldfork.launch.pool.dispatcher import Dispatcher
from coldfork.launch.pool.local.memory_watch import WorkersMemory
from coldfork.launch.pool.local.starts import Starts
from coldfork.launch.pool.local.worker import LocalWorker, ended_by
from coldfork.launch.pool.transport import wire
from coldfork.launch.pool.turns import take_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.launch.pool.terms import PoolTerms

GRACE_SECONDS = 5.0
"""So long a worker may take to end when no more tasks come."""


class LocalCrew:
    """The workers of a pool that are processes of this machine."""

    def __init__(self, terms: PoolTerms) -> None:
        self.dispatcher = Dispatcher(
            self, terms.workers, max_tasks=terms.max_tasks, max_queue=terms.max_queue
        )
        self._leases = terms.leases
        self._starts = Starts(terms, self._begun, self._unbegun)
        self._loop = Loop(shared=True)
        self._workers: dict[int, LocalWorker] = {}
        self._finishing: dict[LocalWorker, float] = {}
        """Those that were told to end, and when."""
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._awake = threading.Lock()
        self._loop.watch(self._wake, self._woken)
        todo = (self.dispatcher, self._turn, self._end)
        self.thread = threading.Thread(target=take_turns, args=todo, name="worker pool", daemon=True)
        self.over = threading.Event()
        self._memory: WorkersMemory | None = None
        if terms.max_memory is not None:
            self._memory = WorkersMemory(
                terms.max_memory, self.dispatcher, lambda: list(self._workers.values())
            )

    def open(self) -> None:
        """Start the server, and then the workers."""
        self._starts.open()
        self.thread.start()
        if self._memory is not None:
            self._memory.start()
        self.dispatcher.staff()

    # --- what the dispatcher asks ---

    def start(self, place: int) -> None:
        """Have a worker started."""
        self._starts.start(place)

    def wake(self) -> None:
        """Look at the clock, and at whether all is over."""
        with self._awake:
            if self._wake >= 0:
                os.eventfd_write(self._wake, 1)

    # --- what the thread does ---

    def _turn(self) -> None:
        self._loop.turn(self._patience())
        if self.dispatcher.has_deadlines:
            self.dispatcher.see_to_deadlines()
        if self._finishing:
            self._end_the_slow()

    def _patience(self) -> float | None:
        if not (self._finishing or self.dispatcher.has_deadlines):
            return None
        moments = [since + GRACE_SECONDS for since in self._finishing.values()]
        deadline = self.dispatcher.next_deadline()
        if deadline is not None:
            moments.append(deadline)
        return max(0.0, min(moments) - monotonic()) if moments else None

    def _woken(self) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        for worker in list(self._workers.values()):
            if worker.finishing_since is not None:
                self._finishing[worker] = worker.finishing_since

    def _end_the_slow(self) -> None:
        for worker, since in self._finishing.items():
            if monotonic() - since > GRACE_SECONDS:
                worker.kill()

    # --- what workers say ---

    def _begun(self, worker: LocalWorker) -> None:
        """A worker's process runs. Called by the thread that starts them."""
        self._workers[worker.place] = worker
        self._loop.watch(worker.channels.answers, partial(self._hear, worker))
        self._loop.watch(worker.process.sentinel, partial(self._ended, worker))

    def _unbegun(self, place: int, why: str, for_good: bool) -> None:
        """A worker's process could not be started. Called by the thread that starts them."""
        if self.dispatcher.failed_to_start(place, why, for_good=for_good):
            self._starts.again()
            self.dispatcher.staff()
        self.wake()

    def _hear(self, worker: LocalWorker) -> bool:
        """Take what a worker has answered by now; False if that is nothing."""
        answers = worker.channels.incoming.read()
        if answers is None:
            return False
        done = []
        for kind, number, seconds, data in answers:
            if kind == wire.READY:
                worker.is_ready, worker.pid = True, number
                self.dispatcher.ready(worker.place, worker, monotonic() - worker.asked)
            elif kind == wire.CLEARED:
                self.dispatcher.cleared(worker.place)
            elif kind == wire.UNFIT:
                worker.is_unfit = True
                why = f"the initializer raised:\n{data.decode('utf-8', 'replace')}"
                self.dispatcher.failed_to_start(worker.place, why, for_good=True)
            else:
                memory = -1
                if kind & wire.LARGE:
                    data, memory = wire.receive(worker.channels.tasks) or (b"", wire.LOST)
                done.append((number, seconds, kind & ~wire.LARGE, data, memory))
        if done:
            tasks = self.dispatcher.answered(
                worker.place, [(number, seconds) for number, seconds, *_ in done]
            )
            for task, (_, _, kind, data, memory) in zip(tasks, done, strict=False):
                settle(self.dispatcher, task, kind, data, memory)
        return True

    def _ended(self, worker: LocalWorker) -> None:
        """A worker's process has ended: take what it has still said, and tell the dispatcher."""
        self._loop.forget(worker.channels.answers)
        self._loop.forget(worker.process.sentinel)
        while self._hear(worker):
            pass
        status = worker.leave()
        self._starts.outputs.remove(worker.output)
        del self._workers[worker.place]
        self._finishing.pop(worker, None)
        try:
            self._tell_end(worker, status)
        finally:
            worker.let_go()

    def _tell_end(self, worker: LocalWorker, status: int) -> None:
        if worker.is_ready:
            self.dispatcher.died(worker.place, worker.died(status))
        elif not worker.is_unfit:
            said = f"process {worker.pid} {ended_by(status)} before it was ready"
            lines = worker.output.last_lines()
            why = f"{said}; its last lines were:\n{lines}" if lines else said
            if self.dispatcher.failed_to_start(worker.place, why):
                self.dispatcher.staff()

    def _end(self) -> None:
        self._starts.close()
        if self._memory is not None:
            self._memory.end()
        for worker in list(self._workers.values()):
            worker.kill()
        for worker in list(self._workers.values()):
            readable([worker.process.sentinel], GRACE_SECONDS)
            worker.leave()
            worker.let_go()
        for lease in self._leases:
            lease.release()
        self._loop.close()
        with self._awake:
            os.close(self._wake)
            self._wake = -1
        self.over.set()
