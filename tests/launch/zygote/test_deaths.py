"""The fate of callers, servers and workers when one of them is killed or stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from coldfork.launch.server.zygote import handle
from coldfork.launch.server.zygote.handle import zygote
from coldfork.model.errors import ZygoteError
from tests.launch.zygote import targets
from tests.launch.zygote.conftest import LIMIT

pytestmark = pytest.mark.once

CALLER = Path(__file__).with_name("dying_caller.py")

Ended = Callable[[Iterable[int]], list[int]]


@contextmanager
def caller(thread: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, Any]]]:
    """A program with a server, two workers, and what one of them has started."""
    command = [sys.executable, str(CALLER), thread]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as program:
        assert program.stdout is not None
        line = program.stdout.readline()
        try:
            yield program, json.loads(line)
        finally:
            program.kill()


@pytest.mark.parametrize("thread", ["main", "thread"])
def test_nothing_is_left_of_a_caller_that_was_killed(thread: str, ended: Ended) -> None:
    with caller(thread) as (program, pids):
        assert len(pids["workers"]) == 5
        program.kill()
        assert ended([pids["server"], *pids["workers"]]) == []


@pytest.mark.parametrize("thread", ["main", "thread"])
def test_nothing_is_left_though_the_server_was_stopped(thread: str, ended: Ended) -> None:
    with caller(thread) as (program, pids):
        os.kill(pids["server"], signal.SIGSTOP)
        program.kill()
        assert ended([pids["server"], *pids["workers"]]) == []


def test_the_caller_s_workers_end_with_it_though_the_server_was_killed_before(ended: Ended) -> None:
    with caller("main") as (program, pids):
        own, _, nested, *_ = pids["workers"]
        os.kill(pids["server"], signal.SIGKILL)
        # A worker's own worker is a child of the server.
        assert ended([nested]) == []
        program.kill()
        left = pids["workers"][3:]
        assert ended([own, pids["workers"][1]]) == []
    for pid in left:
        os.kill(pid, signal.SIGKILL)


def test_a_server_that_was_killed_is_replaced_and_its_workers_go_on() -> None:
    with zygote() as made:
        context = made.context
        answers = context.Queue()
        first = context.Process(target=targets.wait_for_ever, args=(answers,))
        first.start()
        answers.get(timeout=LIMIT)
        before = made.pid
        assert before is not None
        os.kill(before, signal.SIGKILL)
        seen = []
        for _ in range(3):
            process = context.Process(target=targets.tell_pids, args=(answers,))
            process.start()
            seen.append(answers.get(timeout=LIMIT)[0] == process.pid)
            process.join(LIMIT)
        assert seen == [True] * 3
        assert made.pid != before
        assert first.is_alive()
        first.kill()
        first.join(LIMIT)
        assert first.exitcode == -signal.SIGKILL


def test_a_server_that_was_stopped_is_named_and_goes_on_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handle, "_PATIENCE", 0.2)
    with zygote() as made:
        context = made.context
        made.wait(LIMIT)
        assert made.pid is not None
        os.kill(made.pid, signal.SIGSTOP)
        # The spare is there, and serves one.
        first = context.Process(target=targets.leave, args=(3,))
        first.start()
        stopped = rf"^the server \(pid {made.pid}\) has not answered for 0.2 s; it is stopped: kill -CONT"
        second = context.Process(target=targets.leave, args=(3,))
        with pytest.raises(ZygoteError, match=stopped):
            second.start()
        monkeypatch.setattr(handle, "_PATIENCE", LIMIT)
        os.kill(made.pid, signal.SIGCONT)
        last = context.Process(target=targets.leave, args=(3,))
        last.start()
        for process in (first, last):
            process.join(LIMIT)
            assert process.exitcode == 3
        # What nobody waited for any more was not started when the server went on.
        assert len(children()) <= 2, "the server and its spare"


def test_a_spare_that_was_killed_is_replaced() -> None:
    with zygote() as made:
        context = made.context
        made.wait(LIMIT)
        for _ in range(3):
            for spare in spares(made.pid):
                os.kill(spare, signal.SIGKILL)
            process = context.Process(target=targets.leave, args=(2,))
            process.start()
            process.join(LIMIT)
            assert process.exitcode == 2
    assert children() == []


def test_the_end_of_the_thread_that_started_the_server_ends_nothing() -> None:
    made = zygote()
    made.close()
    starter = threading.Thread(target=lambda: made_on_a_thread.append(zygote().wait(LIMIT)))
    made_on_a_thread: list[handle.Zygote] = []
    starter.start()
    starter.join()
    with made_on_a_thread[0] as other:
        process = other.context.Process(target=targets.leave, args=(6,))
        process.start()
        process.join(LIMIT)
        assert process.exitcode == 6


def test_a_worker_can_be_interrupted_and_the_server_cannot(tmp_path: Path) -> None:
    with zygote() as made:
        answers = made.context.Queue()
        made.wait(LIMIT)
        assert made.pid is not None
        before = made.pid
        os.kill(before, signal.SIGINT)
        process = made.context.Process(target=targets.tell_interrupt, args=(answers,))
        process.start()
        assert answers.get(timeout=LIMIT) == "KeyboardInterrupt"
        process.join(LIMIT)
        assert made.pid == before


def test_a_worker_that_breaks_an_executor_leaves_the_server_as_it_was() -> None:
    with zygote() as made, made.context.Pool(1) as pool:
        before = made.pid
        pool.map_async(targets.exhaust, [0])
        assert pool.apply(targets.square, (4,)) == 16
        assert made.pid == before


def children() -> list[int]:
    """The processes that are children of this one, zombies among them, without multiprocessing's own."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        found += [int(pid) for pid in (task / "children").read_text(encoding="ascii").split()]
    return [pid for pid in found if b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()]


def spares(server: int | None) -> list[int]:
    """The children of this process that carry the mark of a server and are not the server."""
    return [pid for pid in children() if pid != server and mark(pid) == mark(server)]


def mark(pid: int | None) -> bytes:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        # It has ended, and nobody has waited for it yet.
        return b""
    return next((line for line in environment if line.startswith(b"COLDFORK_ZYGOTE=")), b"")


def test_many_threads_start_workers_while_servers_are_killed() -> None:
    with zygote() as made:
        context = made.context
        made.wait(LIMIT)
        codes: list[int | None] = []

        def start_some() -> None:
            for _ in range(5):
                process = context.Process(target=targets.leave, args=(3,))
                process.start()
                process.join(LIMIT)
                codes.append(process.exitcode)

        threads = [threading.Thread(target=start_some) for _ in range(4)]
        for thread in threads:
            thread.start()
        first_seen: dict[int | None, int] = {None: 100}
        while any(thread.is_alive() for thread in threads):
            server, done = made.pid, len(codes)
            # One that has not begun to serve is not replaced: its import might be what ends it.
            if done >= first_seen.setdefault(server, done) + 4 and server is not None:
                with suppress(ProcessLookupError):
                    os.kill(server, signal.SIGKILL)
            threads[0].join(0.01)
        assert len(first_seen) > 2
        assert codes == [3] * 20
    assert children() == []
