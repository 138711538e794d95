"""The speech notes with a pool: warm workers that do one job each, and what becomes of those that cannot."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.examples.speech_notes_serving import ENGINE, EXAMPLE, Answer, Server, alive, until
from tests.launch.pool.faults.leftovers import descendants

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

POOL = ("--launch", "pool")
THREADED = """
import sys
import threading

from speech_notes.engines.embedded import Embedded

if "uvicorn" not in sys.modules:
    threading.Thread(target=threading.Event().wait, daemon=True).start()


class Threaded(Embedded):
    about = "An engine that no server may import which forks."
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server with one worker."""
    started = Server(tmp_path, *POOL)
    try:
        yield started
    finally:
        started.go()
        started.stop()


def health(server: Server) -> Answer:
    """Return the server's report on its own health."""
    return server.ask("GET", "/health")


def pool(server: Server) -> Any:
    """How the pool stands, as the server tells it."""
    return health(server).json["pool"]


def warm(server: Server) -> list[int]:
    """The processes that wait for jobs, as soon as there are any."""
    found: list[int] = until(lambda: pool(server)["pids"], "a worker is warm")
    return found


def children(server: Server) -> list[int]:
    """The processes below the server, the oldest first."""
    threads = Path(f"/proc/{server.process.pid}/task").iterdir()
    found = [int(pid) for thread in threads for pid in (thread / "children").read_text().split()]
    return sorted(found, key=began)


def began(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19])


def crew(server: Server) -> list[int]:
    """The process that workers are forked from, and those: one that is warm, and one that is forked ahead."""
    warm(server)
    found: list[int] = until(lambda: of if len(of := _crew(server)) == 3 else None, "all are there")
    return found


def _crew(server: Server) -> list[int]:
    return [pid for pid in children(server) if b"zygote" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def ended(pid: int) -> bool:
    return not alive(pid)


@pytest.mark.must_hold
def test_a_worker_is_there_before_the_job_and_does_no_other_one(server: Server) -> None:
    ready = warm(server)
    seen = []
    for _ in range(3):
        job = server.ended(server.submit("remember this"))
        seen.append(job["note"]["paragraphs"])
        until(partial(ended, job["process"]["pid"]), "its process ends with the job")
        warm(server)

    assert seen[0] == [f"{ready[0]} has seen 1."]
    assert {words.partition(" ")[2] for (words,) in seen} == {"has seen 1."}
    assert len({words for (words,) in seen}) == 3


def test_its_health_tells_how_the_pool_stands(server: Server) -> None:
    server.hold()
    name = server.submit("hold on")
    worker = server.held()
    stands = pool(server)
    assert (stands["says"], stands["busy"], stands["pids"]) == ("1 warm (1 busy)", 1, [worker])
    os.kill(worker, signal.SIGKILL)
    assert server.ended(name)["state"] == "killed"
    stands = until(lambda: now if (now := pool(server))["warm"] else None, "another worker is warm")
    assert (stands["failed"], stands["died"], stands["done"]) == (1, 1, 0)
    assert stands["pids"] != [worker]


def test_a_worker_that_is_killed_while_it_waits_costs_no_job(server: Server) -> None:
    (waiting,) = warm(server)
    os.kill(waiting, signal.SIGKILL)
    assert server.ended(server.submit("the one after that"))["state"] == "done"


def test_the_process_that_workers_are_forked_from_is_replaced(server: Server) -> None:
    killed, *_ = crew(server)
    os.kill(killed, signal.SIGKILL)
    for words in ("a worker is still there", "another was forked ahead", "the third was not"):
        assert server.ended(server.submit(words))["state"] == "done"
    assert killed not in crew(server)


@pytest.mark.must_hold
def test_a_pool_that_is_broken_fails_its_jobs_says_so_and_is_opened_again(server: Server) -> None:
    everybody = crew(server)
    engine = server.folder / "held.py"
    engine.write_text("raise RuntimeError('somebody was not done with it')", encoding="utf-8")
    for pid in everybody:
        os.kill(pid, signal.SIGKILL)
    sick = until(lambda: now if (now := health(server)).status == 503 else None, "it says that it is not fit")
    assert not sick.json["healthy"]
    assert "somebody was not done with it" in sick.json["pool"]["says"]

    job = server.ended(server.submit("and this one"))
    assert job["state"] == "failed"
    assert job["error"].startswith("no worker of the pool can be started: ")
    assert "somebody was not done with it" in job["error"]

    engine.write_text(ENGINE, encoding="utf-8")
    assert server.ended(server.submit("and now"))["state"] == "done"
    until(lambda: health(server).json["healthy"], "it is fit again")


def test_an_engine_that_cannot_be_preloaded_is_imported_by_each_worker(tmp_path: Path) -> None:
    (tmp_path / "threaded.py").write_text(THREADED, encoding="utf-8")
    server = Server(tmp_path, *POOL, engine="threaded:Threaded")
    try:
        job = server.ended(server.submit("is it done"))
    finally:
        server.stop()
    assert (job["state"], job["process"]["launch"]) == ("done", "pool")
    said = server.errors()
    assert "each job imports its engine anew, because no worker of the pool can be started" in said
    assert "cannot preload threaded" in said


def test_a_server_that_is_stopped_leaves_one_file_and_no_process(tmp_path: Path) -> None:
    server = Server(tmp_path, *POOL)
    try:
        server.ended(server.submit("is it done"))
        processes = crew(server)
    finally:
        server.stop()
    until(lambda: not any(map(alive, processes)), "nothing is left of it")
    assert sorted(path.name for path in (tmp_path / "data").glob("jobs*")) == ["jobs.sqlite3"]
    assert server.left() == []


@pytest.mark.must_hold
def test_workers_end_with_a_server_that_is_killed(tmp_path: Path) -> None:
    server = Server(tmp_path, *POOL, "--workers", "2")
    try:
        until(lambda: pool(server)["warm"] == 2, "both are warm")
        processes = descendants(server.process.pid)
        assert set(warm(server)) < processes
    finally:
        server.kill()
    until(lambda: not any(map(alive, processes)), "nothing is left of it")


def test_two_workers_do_two_jobs_at_once(tmp_path: Path) -> None:
    server = Server(tmp_path, *POOL, "--workers", "2")
    try:
        names = [server.submit(f"hold number {number}") for number in range(2)]
        at_work = {server.held(), server.held()}
        assert {server.job(name)["progress"]["stage"] for name in names} == {"punctuating"}
        server.go()
        ended = [server.ended(name) for name in names]
    finally:
        server.go()
        server.stop()
    assert {job["process"]["pid"] for job in ended} == at_work
    assert {tuple(job["note"]["paragraphs"]) for job in ended} == {("Hold number 0.",), ("Hold number 1.",)}


def test_who_does_not_listen_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    telling = import_module("speech_notes.launch.steps").Telling
    nobody = telling(str(tmp_path / "nothing"))
    nobody(1, 2)
    nobody.close()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        deaf = telling(str(pipe))
        for number in range(10_000):
            deaf(number, 10_000)
        deaf.close()
        # What was told before the pipe was full is whole.
        content = os.read(reading, 1 << 20)
        assert 0 < len(content) < 160_000
        assert len(content) % 16 == 0
    finally:
        os.close(reading)
