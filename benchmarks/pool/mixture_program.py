"""A program that treats its pool badly in many ways at once: `... -m benchmarks.pool.mixture_program SEED`

Which ways, and when, the seed says. It is interrupted wherever it is, forks children that stay, leaves its
error output unread, deletes its folder, kills workers, and has callbacks and a signal handler that misbehave.
Then it counts: every future has to be settled, and once, and the pool has to work on, and to end. It prints
what it found as JSON.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import CancelledError, wait
from contextlib import suppress
from typing import Any

import coldfork
from benchmarks.pool import tasks

WORKERS = 2
STEPS = 40
PATIENCE = 60.0
"""So many seconds all futures have to be settled in, and the pool to end."""


class Interrupts:
    """A thread that interrupts the program again and again, while it may."""

    def __init__(self, draw: random.Random) -> None:
        self.sent = 0
        self._draw = draw
        self._armed = threading.Event()
        self._sending = threading.Lock()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            self._armed.wait()
            time.sleep(self._draw.random() * 0.02)
            with self._sending:
                if self._armed.is_set():
                    self.sent += 1
                    os.kill(os.getpid(), signal.SIGINT)

    def during(self, work: Callable[[], object]) -> None:
        """Do this, and be interrupted meanwhile."""
        try:
            self._armed.set()
            work()
        except KeyboardInterrupt:
            pass
        self.stop()

    def stop(self) -> None:
        """Interrupt no more; one that is on its way arrives here."""
        while True:
            try:
                self._armed.clear()
                with self._sending:
                    pass
                time.sleep(0.001)
            except KeyboardInterrupt:
                continue
            return


class Mixture:
    """The program, with what it has submitted."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.interrupts = Interrupts(random.Random(seed))
        self.futures: list[Any] = []
        self.settled: dict[int, int] = {}
        self.children: list[int] = []
        self.sleeping: list[Any] = []
        self.steps: list[Callable[[], None]] = []
        self.pool = coldfork.WorkerPool(WORKERS, max_queue=self.draw.choice([None, None, 4]))

    def keep(self, future: Any) -> None:
        """Remember a future, and count how often it is settled."""
        self.futures.append(future)
        future.add_done_callback(self._count)

    def _count(self, future: Any) -> None:
        self.settled[id(future)] = self.settled.get(id(future), 0) + 1

    # --- what it does ---

    def submits(self) -> None:
        for _ in range(self.draw.randrange(1, 60)):
            self.keep(self.pool.submit(tasks.nothing, b"x" * self.draw.choice([1, 1000, 100_000])))

    def maps(self) -> None:
        with suppress(coldfork.WorkerDiedError):
            list(self.pool.map(tasks.nothing, [b"x"] * self.draw.randrange(200)))

    def awaits(self) -> None:
        for future in self.futures[-20:]:
            with suppress(Exception, CancelledError):
                future.result(0.05)

    def kills_a_worker(self) -> None:
        pids = self.pool.health().pids
        if pids:
            with suppress(ProcessLookupError):
                os.kill(self.draw.choice(pids), self.draw.choice([signal.SIGKILL, signal.SIGSEGV]))

    def loses_a_worker(self) -> None:
        self.keep(self.pool.submit(os._exit, 3))

    def kills_a_task(self) -> None:
        future = self.pool.submit(time.sleep, 1)
        self.sleeping.append(future)
        self.keep(future)
        if self.draw.random() < 0.5:
            time.sleep(0.01)
        future.kill()

    def limits_a_task(self) -> None:
        self.keep(self.pool.submit(time.sleep, 1, timeout=0.05))

    def forks(self) -> None:
        if self.draw.random() < 0.5:
            child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(300,), daemon=True)
            child.start()
            self.children.append(child.pid or 0)
        else:
            pid = os.fork()
            if pid == 0:
                time.sleep(300)
                os._exit(0)
            self.children.append(pid)

    def is_noisy(self) -> None:
        # More would have to be read: a worker waits until it is, as it does without a pool.
        self.keep(self.pool.submit(os.write, 2, b"e" * 100_000))
        self.steps.remove(self.is_noisy)

    def calls_back(self) -> None:
        how = self.draw.choice(["submit", "exit", "raise", "slow"])

        def called(_: object) -> None:
            if how == "submit":
                with suppress(RuntimeError):
                    self.keep(self.pool.submit(tasks.nothing, b""))
            elif how == "slow":
                time.sleep(0.05)
            else:
                raise SystemExit(3) if how == "exit" else ValueError("meant")

        with suppress(SystemExit):
            # Where it is done already, that is called right here.
            self.pool.submit(tasks.nothing, b"").add_done_callback(called)

    def hears_an_alarm(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, self.draw.random() * 0.003, 0.002)
        self.submits()

    def alarm(self, *_: object) -> None:
        """Submit in a signal handler, wherever the program is."""
        with suppress(RuntimeError):
            self.keep(self.pool.submit(tasks.nothing, b""))

    def opens_another(self) -> None:
        with coldfork.WorkerPool(1) as pool:
            self.keep(pool.submit(tasks.nothing, b""))

    def deletes_its_folder(self) -> None:
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        os.rmdir(folder)  # noqa: PTH106

    def run(self) -> dict[str, Any]:
        """Do all that; what was found."""
        signal.signal(signal.SIGALRM, self.alarm)
        # What the standard library logs in this very thread is not the pool's.
        logging.getLogger("concurrent.futures").addHandler(logging.NullHandler())
        # Nobody reads what its workers write.
        _, errors = os.pipe()
        if self.draw.random() < 0.7:
            os.dup2(errors, 2)
        self.steps = steps = [self.submits, self.maps, self.awaits, self.submits, self.maps, self.awaits]
        steps += [self.kills_a_worker, self.loses_a_worker, self.kills_a_task, self.limits_a_task, self.forks]
        steps += [self.is_noisy, self.calls_back, self.hears_an_alarm, self.deletes_its_folder]
        steps += [self.opens_another]
        for _ in range(STEPS):
            step = self.draw.choice(steps)
            if self.draw.random() < 0.5 and step != self.forks:
                self.interrupts.during(step)
            else:
                step()
            signal.setitimer(signal.ITIMER_REAL, 0)
        self.interrupts.stop()
        return self.found()

    def found(self) -> dict[str, Any]:
        """Whether it was all right in the end."""
        for future in self.sleeping:
            # It was interrupted before it was killed.
            future.kill()
        flood = threading.Thread(target=_drain, daemon=True)
        flood.start()
        _, unsettled = wait(self.futures, PATIENCE)
        works = self.pool.submit(tasks.nothing, b"").exception(PATIENCE) is None
        began = time.monotonic()
        self.interrupts.during(self.pool.shutdown)
        self.pool.shutdown()
        took = time.monotonic() - began
        return {
            "futures": len(self.futures),
            "interrupts": self.interrupts.sent,
            "unsettled": len(unsettled),
            "twice": sum(times > 1 for times in self.settled.values()),
            "works": works,
            "ended": took < PATIENCE,
        }


def _drain() -> None:
    """Read the error output after all, where this program has its other end."""
    for number in range(3, 64):
        with suppress(OSError):
            if os.readlink(f"/proc/self/fd/{number}") == os.readlink("/proc/self/fd/2"):  # noqa: PTH115
                while os.read(number, 65_536):
                    pass


def main(seed: int) -> int:
    """Do it, print what was found, and leave no child behind; status 1 if it went wrong."""
    mixture = Mixture(seed)
    try:
        said = mixture.run()
    except BaseException as error:
        # Its error output may be one that nobody reads.
        said = {"raised": "".join(traceback.format_exception(error))[-2_000:]}
    for pid in mixture.children:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    print(json.dumps(said), flush=True)
    return int("raised" in said)


if __name__ == "__main__":
    os._exit(main(int(sys.argv[1])))
