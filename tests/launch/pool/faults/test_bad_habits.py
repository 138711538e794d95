"""Callers that treat a pool badly, each in a program of its own: its tasks are settled, and it works on."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.amounts import LONG
from tests.launch.pool.faults.conftest import ROOT, Script
from tests.launch.pool.faults.leftovers import not_ended
from tests.launch.pool.faults.tasks import LIMIT
from tests.launch.sidebyside import variables

HEAD = """
    import asyncio, atexit, math, multiprocessing, os, select, shutil, signal, sys, tempfile, threading, time
    from pathlib import Path
    from concurrent.futures import wait
    import coldfork
    from tests.launch.pool.faults import tasks
    from tests.launch.pool.faults.leftovers import children, command
    """
FORKED = """
    def main():
        with coldfork.WorkerPool(2) as pool:
            pool.submit(tasks.double, 4).result()
            child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(300,), daemon=True)
            child.start()
            pool.wait()
            for number in range(20):
                pool.submit(atexit.register, tasks.note, f"left-{number}").result()
        # A worker that is not told of its end is killed, and calls nothing any more.
        print("ended", len(list(Path().glob("left-*"))) == 20)
        child.kill()
    """
UNREAD = """
    def main():
        reading, writing = os.pipe()
        os.dup2(writing, 2)
        os.close(writing)
        pool = coldfork.WorkerPool(2).wait()
        pool.submit(os.write, 2, b"e" * 100_000).result()
        died = pool.submit(tasks.say_and_leave, "bye").exception(60)
        print(type(died).__name__, [pool.submit(tasks.double, n).result(60) for n in range(3)], flush=True)
        pool.shutdown()
        os._exit(0)
    """
LONG_TIMEOUTS = """
    def main():
        with coldfork.WorkerPool(1, timeout=math.inf) as pool:
            print([pool.submit(tasks.double, n, timeout=30 * 86_400 * n).result() for n in (1, 2)])
            print(pool.submit(tasks.double, 3).result())
    """
WRITES = """
    def write_to_pipes():
        for number in range(3, 40):
            try:
                if os.readlink(f"/proc/self/fd/{number}").startswith("pipe:"):
                    os.write(number, b"hello\\n")
            except OSError:
                pass

    def main():
        with coldfork.WorkerPool(1) as pool:
            print(pool.submit(write_to_pipes).exception())
            print(pool.submit(tasks.double, 4).result())
    """
SENDS = """
    def send_to_sockets():
        for number in range(3, 40):
            try:
                if os.readlink(f"/proc/self/fd/{number}").startswith("socket:"):
                    os.write(number, b"hello")
            except OSError:
                pass
        return bytes(1 << 20)

    def main():
        with coldfork.WorkerPool(1) as pool:
            print(pool.submit(send_to_sockets).exception(60))
            print(pool.submit(tasks.double, 4).result())
    """
CALLS_BACK = """
    def main():
        with coldfork.WorkerPool(1, max_queue=1) as pool:
            done = threading.Semaphore(0)

            def again(_):
                done.release()
                try:
                    pool.submit(tasks.double, 1).add_done_callback(again)
                except RuntimeError:
                    pass

            pool.submit(tasks.double, 1).add_done_callback(again)
            for _ in range(50):
                pool.submit(tasks.double, 1)
            print(all(done.acquire(timeout=60) for _ in range(50)))
    """
LEAVES_IN_A_CALLBACK = """
    def main():
        with coldfork.WorkerPool(1) as pool:
            called = threading.Event()
            future = pool.submit(tasks.process_after, 0.2)
            future.add_done_callback(lambda _: sys.exit(3))
            future.add_done_callback(lambda _: called.set())
            print(called.wait(60), pool.submit(tasks.double, 4).result())
    """
NOWHERE = """
    def main():
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        with coldfork.WorkerPool(1) as pool:
            pool.submit(tasks.double, 1).result()
            os.rmdir(folder)
            died = pool.submit(tasks.leave, 3).exception()
            print(type(died).__name__, pool.submit(tasks.double, 4).result())
        if sys.version_info[:2] == (3, 13):
            # CPython 3.13.0 itself cannot import socket in a program of -c whose folder is gone.
            print(8)
            return
        with coldfork.WorkerPool(1) as pool:
            print(pool.submit(tasks.double, 4).result())
    """
REAPS = """
    def main():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        with coldfork.WorkerPool(1) as pool:
            left, crashed = pool.submit(tasks.leave, 3), pool.submit(tasks.follow_null)
            for error in (left.exception(), crashed.exception()):
                print(error.exitcode, error.signal)
    """
LEAVES_A_STREAM = """
    async def main_of_it():
        with coldfork.WorkerPool(2) as pool:
            async for _ in pool.astream(tasks.process_after, [0.02] * 20):
                break
            await asyncio.sleep(0.2)
        import gc
        gc.collect()

    def main():
        asyncio.run(main_of_it())
        print("quiet")
    """
HEARS_SIGNALS = """
    def main():
        with coldfork.WorkerPool(2) as pool:
            pool.wait()
            heard = []
            signal.signal(signal.SIGALRM, lambda *_: heard.append(pool.submit(tasks.double, 9)))
            signal.setitimer(signal.ITIMER_REAL, 0.0007, 0.0007)
            while len(heard) < 300:
                assert [f.result(60) for f in [pool.submit(tasks.double, n) for n in range(50)]]
            signal.setitimer(signal.ITIMER_REAL, 0)
            print({future.result(60) for future in heard})
    """
INTERRUPTED = """
    def main():
        import random
        pool = coldfork.WorkerPool(2).wait()
        survived = 0
        while survived < 60:
            after = threading.Timer(random.random() * 0.02, os.kill, (os.getpid(), signal.SIGINT))
            try:
                after.start()
                while True:
                    list(pool.map(tasks.double, range(500)))
            except KeyboardInterrupt:
                survived += 1
            after.join()
            assert pool.submit(tasks.double, 7).result(60) == 14
        pool.shutdown()
        print(survived)
    """
FLUSHES = """
    def main():
        reading, writing = os.pipe()
        errors = os.dup(2)
        os.dup2(writing, 2)
        os.write(writing, b"e" * 60_000)
        pool = coldfork.WorkerPool(1).wait()
        # Each is logged, more than fits.
        for number in range(100):
            pool.submit(abs, number).add_done_callback(tasks.raise_only_here)
        assert pool.submit(tasks.double, 4).result(60) == 8
        for _ in range(20):
            sys.stderr.flush()
            time.sleep(0.01)
        os.dup2(errors, 2)
        print("flushed", flush=True)
        os._exit(0)
    """
STUCK = """
    def main():
        errors = os.dup(2)
        reading, writing = os.pipe()
        os.dup2(writing, 2)
        threading.Thread(target=sys.stderr.write, args=("e" * 1_000_000,), daemon=True).start()
        # It holds what guards the stream when it waits for a reader.
        while not (poll := select.poll()).register(writing, select.POLLOUT) and poll.poll(0):
            time.sleep(0.01)
        with coldfork.WorkerPool(1) as pool:
            print(pool.submit(tasks.double, 4).result(60), flush=True)
        os.dup2(errors, 2)
        os._exit(0)
    """
OPENED = """
    def main():
        import random
        caught, futures = 0, []
        while caught < 30:
            after = threading.Timer(random.random() * 0.25, os.kill, (os.getpid(), signal.SIGINT))
            try:
                after.start()
                while True:
                    with coldfork.WorkerPool(2) as pool:
                        some = [pool.submit(tasks.double, number) for number in range(4)]
                        futures += some
                        [future.result() for future in some]
            except KeyboardInterrupt:
                caught += 1
            after.join()
        assert not wait(futures, 60).not_done
        until = time.monotonic() + 60
        def ours():
            names = [thread.name for thread in threading.enumerate()]
            servers = [pid for pid in children() if b"zygote" in command(pid)]
            return servers + [name for name in names if name.startswith("worker pool")]
        while (left := ours()) and time.monotonic() < until:
            time.sleep(0.05)
        print(left)
    """
EXECS = """
    def main():
        pool = coldfork.WorkerPool(1).wait()
        pid = pool.health().pids[0]
        pool.submit(tasks.compute_for_ever, "begun")
        tasks.noted(Path("begun"))
        print(pid, flush=True)
        os.execv("/bin/sleep", ["sleep", "300"])
    """
SAID = {
    "a-child-that-stays": (FORKED, "ended True\n"),
    "errors-that-nobody-reads": (UNREAD, "WorkerDiedError [0, 2, 4]\n"),
    "timeouts-of-months": (LONG_TIMEOUTS, "[2, 4]\n6\n"),
    "a-callback-that-submits": (CALLS_BACK, "True\n"),
    "a-callback-that-leaves": (LEAVES_IN_A_CALLBACK, "True 8\n"),
    "a-folder-that-is-gone": (NOWHERE, "WorkerDiedError 8\n8\n"),
    "children-that-nobody-waits-for": (REAPS, "3 None\n-11 SIGSEGV\n"),
    "a-handler-that-submits": (HEARS_SIGNALS, "{18}\n"),
    "a-stream-that-is-flushed-and-not-read": (FLUSHES, "flushed\n"),
    "a-thread-that-is-stuck-in-a-stream": (STUCK, "8\n"),
    "interrupts": (INTERRUPTED, "60\n"),
    "interrupts-while-pools-come-and-go": (OPENED, "[]\n"),
}
END = """

    if __name__ == "__main__":
        main()
    """


@pytest.mark.must_hold
@pytest.mark.parametrize("habit", SAID)
def test_the_pool_works_on(script: Script, habit: str) -> None:
    text, expected = SAID[habit]
    said, errors = script(HEAD + text + END).communicate(timeout=2 * LIMIT)
    assert said == expected, errors[-2000:]


def test_a_task_that_writes_where_its_worker_answers_fails_alone(script: Script) -> None:
    said, errors = script(HEAD + WRITES + END).communicate(timeout=2 * LIMIT)
    lines = said.splitlines()
    assert "was killed because the code that it ran wrote to the pipe for its answers" in lines[0]
    assert lines[-1] == "8", errors


def test_so_does_one_that_writes_where_large_answers_come(script: Script) -> None:
    said, errors = script(HEAD + SENDS + END).communicate(timeout=2 * LIMIT)
    assert "was killed because the code that it ran wrote to" in said.splitlines()[0]
    assert said.splitlines()[-1] == "8", errors


def test_nothing_is_said_of_a_stream_that_was_left(script: Script) -> None:
    assert script(HEAD + LEAVES_A_STREAM + END).communicate(timeout=2 * LIMIT) == ("quiet\n", "")


def test_a_worker_ends_though_its_program_has_become_another_one(script: Script) -> None:
    program = script(HEAD + EXECS + END)
    assert program.stdout is not None
    assert not_ended([int(program.stdout.readline())]) == []
    assert program.poll() is None


@pytest.mark.must_hold
@pytest.mark.once
@pytest.mark.parametrize("seed", range(500) if LONG else (1, 2, 3))
def test_every_future_is_settled_once_in_a_mixture_of_all_that(seed: int) -> None:
    command = [sys.executable, "-m", "benchmarks.pool.mixture_program", str(seed)]
    done = subprocess.run(
        command, cwd=ROOT, env=variables({"PYTHONPATH": str(ROOT)}), stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, timeout=2 * LIMIT, check=False,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found.pop("futures", 0) > 20, found
    found.pop("interrupts")
    assert found == {"unsettled": 0, "twice": 0, "works": True, "ended": True}
