"""The threads that start a pool's workers, read their answers, and watch for memory use and ends."""

from __future__ import annotations

import os
import queue
import threading
from contextlib import ExitStack
from functools import partial
from time import monotonic

from coldfork.launch.plumbing.loop import Bell, Loop, readable
from coldfork.launch.pool import wire
from coldfork.launch.pool.dispatcher import Dispatcher
from coldfork.launch.pool.errors import MemoryCapError
from coldfork.launch.pool.local.outputs import LogFile, OutputPump, to_standard_error
from coldfork.launch.pool.local.worker import LocalWorker
from coldfork.launch.pool.terms import variables
from coldfork.launch.supervisor.limits import spoken, spoken_cap
from coldfork.launch.supervisor.watch import MemoryWatch
from coldfork.model.errors import ColdforkError, ZygoteError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from coldfork.launch.devices.choice import Lease
    from coldfork.launch.pool.terms import PoolTerms
    from coldfork.launch.server.zygote.handle import Zygote

GRACE_SECONDS = 5.0
"""How long a worker may take to end after its last task."""
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0
_MUCH = 0.75
"""A worker that uses more than this part of its memory cap is replaced after its task."""


class LocalBackend:
    """The workers of a pool, as processes of this machine."""

    def __init__(self, terms: PoolTerms, zygote: Zygote) -> None:
        with ExitStack() as undoing:
            undoing.callback(zygote.close)
            self._leases = _leases(terms)
            for lease in self._leases:
                undoing.callback(lease.release)
            self._terms = terms
            self._zygote = zygote
            # Made only after the checks that may refuse the options, because it opens files.
            self._outputs = OutputPump()
            undoing.callback(self._outputs.end)
            self._wanted: queue.SimpleQueue[int | None] = queue.SimpleQueue()
            """The places for which workers should be started."""
            self._pause = 0.0
            self._ending = threading.Event()
            self._starting = threading.Thread(target=self._start, name="worker pool starts", daemon=True)
            self._loop = Loop(shared=True)
            self._bell = Bell(self._loop, self._woken)
            self.dispatcher: Dispatcher = Dispatcher(
                terms, self._wanted.put, self._bell.ring, self._outputs.log
            )
            undoing.callback(self._loop.close)
            undoing.callback(self._bell.close)
            self._workers: dict[int, LocalWorker] = {}
            self._finishing: dict[LocalWorker, float] = {}
            """The workers that were told to end, each with the time at which that happened."""
            self._memory: _WorkersMemory | None = None
            self._outputs.open()
            self._starting.start()
            undoing.callback(self._wanted.put, None)
            if terms.max_memory is not None:
                self._memory = _WorkersMemory(terms.max_memory, self.dispatcher, self._workers)
                undoing.callback(self._memory.end)
            self.dispatcher.open(self._turn, self._end)
            undoing.pop_all()

    # --- the starting thread: a server that takes long to import delays no answer ---

    def _start(self) -> None:
        while True:
            place = self._wanted.get()
            if place is None or self._ending.wait(self._pause):
                return
            pause, self._pause = self._pause, 0.0
            try:
                worker = LocalWorker(place, self._sink(place))
                worker.start(self._zygote, self._terms, self._leases[place] if self._leases else None)
                self._outputs.add(worker.output)
            except Exception as error:
                if self._ending.is_set():
                    return
                self._pause = min(_LONGEST_PAUSE, max(_FIRST_PAUSE, pause * 2))
                self.dispatcher.ask(partial(self._unbegun, place, error))
            else:
                self._workers[place] = worker
                self._loop.watch(worker.answers, partial(self._hear, worker))
                self._loop.watch(worker.process.sentinel, partial(self._ended, worker))

    def _sink(self, place: int) -> Callable[[bytes], None]:
        if self._terms.log_dir is None:
            return to_standard_error
        return LogFile(self._terms.log_dir / f"worker-{place}.log", self._terms.most_logged).take

    # --- the pool's thread ---

    def _unbegun(self, place: int, error: Exception) -> None:
        """Report why a worker was not started, and whether all further attempts would fail too."""
        if isinstance(error, ZygoteError):
            for_good = error.module is not None
        else:
            for_good = not isinstance(error, OSError)
        known = isinstance(error, ColdforkError | OSError)
        why = str(error) if known else f"{type(error).__name__}: {error}"
        if self.dispatcher.failed_to_start(place, why, for_good=for_good):
            self.dispatcher.staff()

    def _turn(self) -> None:
        self._loop.turn(self._patience() if self.dispatcher.may_sleep() else 0.0)
        self.dispatcher.attend()
        for worker, since in self._finishing.items():
            if monotonic() - since > GRACE_SECONDS:
                worker.kill()

    def _patience(self) -> float | None:
        moments = [since + GRACE_SECONDS for since in self._finishing.values()]
        deadline = self.dispatcher.next_deadline()
        if deadline is not None:
            moments.append(deadline)
        return max(0.0, min(moments) - monotonic()) if moments else None

    def _woken(self) -> None:
        for worker in list(self._workers.values()):
            if worker.finishing_since is not None:
                self._finishing[worker] = worker.finishing_since

    def _hear(self, worker: LocalWorker) -> bool:
        """Read the answers that a worker has sent; return False if there are none."""
        self.dispatcher.hear_requests()
        answers = worker.incoming.read()
        if answers is None:
            return False
        done: list[tuple[int, float, int, bytes, int]] = []
        for kind, number, seconds, data in answers:
            if kind == wire.READY:
                worker.is_ready, worker.pid = True, number
                self.dispatcher.ready(worker)
            elif kind == wire.CLEARED:
                self.dispatcher.cleared(worker)
            elif kind == wire.ENDED:
                worker.status = os.waitstatus_to_exitcode(number)
            elif kind == wire.UNFIT:
                worker.is_unfit = True
                why = f"the initializer raised:\n{data.decode('utf-8', 'replace')}"
                self.dispatcher.failed_to_start(worker.place, why, for_good=True)
            elif worker.awaits(number, len(done)) and (said := worker.whole(kind, number, data)):
                done.append((number, seconds, kind, *said))
            else:
                worker.incoming.is_garbled = True
                break
        if done:
            tasks = self.dispatcher.answered(worker, [(number, seconds) for number, seconds, *_ in done])
            for task, (_, _, kind, data, memory) in zip(tasks, done, strict=False):
                self.dispatcher.settle(task, *wire.ended(kind & ~wire.LARGE, data, memory))
        if worker.incoming.is_garbled:
            # Once something that is no frame has come, later answers cannot be recognised.
            self._loop.forget(worker.answers)
            worker.kill()
            return False
        return True

    def _ended(self, worker: LocalWorker) -> None:
        """Handle the end of a worker's process: read its last answers, and tell the dispatcher."""
        self._loop.forget(worker.answers)
        self._loop.forget(worker.process.sentinel)
        while not worker.incoming.is_garbled and self._hear(worker):
            pass
        status = worker.leave()
        self._outputs.remove(worker.output)
        del self._workers[worker.place]
        self._finishing.pop(worker, None)
        try:
            self._tell_end(worker, status)
        finally:
            worker.let_go()

    def _tell_end(self, worker: LocalWorker, status: int | None) -> None:
        if worker.is_ready:
            self.dispatcher.died(worker, worker.died(status))
        elif not worker.is_unfit:
            said = f"process {worker.pid} {worker.ended_by(status)} before it was ready"
            lines = worker.output.last_lines()
            why = f"{said}; its last lines were:\n{lines}" if lines else said
            if self.dispatcher.failed_to_start(worker.place, why):
                self.dispatcher.staff()

    def _end(self) -> None:
        self._ending.set()
        self._wanted.put(None)
        # The starting thread may be waiting for a slow server: end the server, unless other pools use it too.
        self._zygote.leave()
        if self._starting.is_alive() and not self._zygote.is_waiting_with_others:
            self._starting.join()
        self._outputs.end()
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
        self._bell.close()


class _WorkersMemory:
    """A thread that watches the memory of workers' processes, and kills workers above their cap."""

    def __init__(self, most: int, dispatcher: Dispatcher, workers: dict[int, LocalWorker]) -> None:
        self._most = most
        self._dispatcher = dispatcher
        self._workers = workers
        self._watches: dict[LocalWorker, MemoryWatch] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="worker pool memory", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop watching."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
            there = [worker for worker in list(self._workers.values()) if worker.is_ready]
            self._watches = {worker: self._watches.get(worker) or MemoryWatch(self._most) for worker in there}
            pause = min((self._look(*each) for each in self._watches.items()), default=0.1)

    def _look(self, worker: LocalWorker, watch: MemoryWatch) -> float:
        """Check one worker's memory; return the seconds until its next check."""
        if watch.look(worker.processes()):
            if not worker.taken:
                held = f"an idle worker holds {spoken(watch.held)}"
                why = f"max_memory={spoken_cap(self._most)} is too low for this pool: {held}; raise it"
                self._dispatcher.ask(partial(self._dispatcher.give_up, why))
                return watch.pause
            held = f"killed at {spoken(watch.held)} of {spoken_cap(self._most)}"
            said = f"the worker that ran the task (pid {worker.pid}) was {held} of memory"
            error = MemoryCapError(said, worker.pid, -9, "SIGKILL", worker.device, worker.output.last_lines())
            self._dispatcher.ask(partial(self._dispatcher.stop_worker, worker, error))
        elif watch.held > self._most * _MUCH:
            self._dispatcher.ask(partial(self._dispatcher.retire, worker))
        return watch.pause


def _leases(terms: PoolTerms) -> list[Lease]:
    """Lease devices for each worker, from those that both this process and the workers may use."""
    if terms.devices is None:
        return []
    from coldfork.launch.devices.leases import take

    return take(terms.devices, terms.workers, variables(terms.env))
