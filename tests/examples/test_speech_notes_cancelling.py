"""Jobs of the speech notes that nobody wants any more: waiting, running, ended, and a server's death."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.examples.speech_notes_serving import EXAMPLE, LAUNCHES, Server, alive, until

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")


@pytest.fixture(scope="module", params=LAUNCHES)
def server(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Server]:
    """One server, whose engine the tests hold."""
    started = Server(tmp_path_factory.mktemp("served"), "--launch", request.param)
    try:
        yield started
    finally:
        started.go()
        started.stop()
    assert "Traceback" not in started.errors()
    assert "ERROR" not in started.errors()


def cancel(server: Server, name: str) -> Any:
    return server.ask("POST", f"/jobs/{name}/cancel")


def test_a_running_job_that_is_cancelled_ends_with_its_process(server: Server) -> None:
    server.hold()
    name = server.submit("hold on until you are cancelled")
    script = server.held()
    answer = cancel(server, name)

    assert answer.status == 200
    assert (answer.json["state"], answer.json["error"], answer.json["progress"]) == ("cancelled", None, None)
    assert answer.json["finished"] >= answer.json["started"]
    until(lambda: not alive(script), "the process of a cancelled job has ended")
    assert server.job(name) == answer.json
    assert server.left() == []
    server.go()
    assert server.ended(server.submit("and now the next one"))["state"] == "done"


def test_what_a_cancelled_job_has_started_ends_with_it(server: Server) -> None:
    server.hold()
    name = server.submit("start something of your own")
    server.held()
    child = int((server.folder / "child").read_text(encoding="utf-8"))
    assert alive(child)
    cancel(server, name)
    until(lambda: not alive(child), "what it had started has ended")


def test_a_waiting_job_that_is_cancelled_never_begins(server: Server) -> None:
    server.hold()
    first, second, third = (server.submit(f"hold number {number}") for number in range(3))
    server.held()
    answer = cancel(server, second)

    assert (answer.status, answer.json["state"], answer.json["started"]) == (200, "cancelled", None)
    server.go()
    assert [server.ended(name)["state"] for name in (first, second, third)] == ["done", "cancelled", "done"]
    assert server.job(second)["attempt"] == 0


def test_who_watches_a_job_hears_that_it_was_cancelled(server: Server) -> None:
    server.hold()
    running, waiting = server.submit("hold on"), server.submit("hold on as well")
    server.held()
    streams = {name: server.events(name) for name in (running, waiting)}
    assert {next(stream)["state"] for stream in streams.values()} == {"running", "queued"}
    for name, stream in streams.items():
        cancel(server, name)
        assert [job["state"] for job in stream][-1] == "cancelled"
    again = server.ask("GET", f"/jobs/{running}/events", headers={"last-event-id": "cancelled"})
    assert again.status == 204


def test_a_job_that_has_ended_stays_as_it_is(server: Server) -> None:
    server.go()
    done = server.ended(server.submit("it is done already"))
    answer = cancel(server, done["id"])

    assert (answer.status, answer.json) == (409, {"detail": "the job has ended: done"})
    assert server.job(done["id"]) == done


def test_it_may_be_cancelled_twice_and_what_is_not_there_is_not_found(server: Server) -> None:
    server.hold()
    name = server.submit("hold on")
    server.held()
    first = cancel(server, name)

    assert (cancel(server, name).status, cancel(server, name).json) == (200, first.json)
    assert cancel(server, "nothing").status == 404
    assert server.ask("GET", f"/jobs/{name}/cancel").status == 405
    foreign = server.ask("POST", f"/jobs/{name}/cancel", headers={"origin": "https://elsewhere.example"})
    assert foreign.status == 403


def test_many_that_are_cancelled_at_every_moment_never_stop_the_worker(server: Server) -> None:
    server.go()
    names = []
    for number in range(12):
        names.append(server.submit(f"number {number} of those that are cancelled at once"))
        if number % 3 == 0:
            until(lambda: server.job(names[-1])["state"] != "queued", "it has begun")
        cancel(server, names[-1])

    assert {server.ended(name)["state"] for name in names} <= {"cancelled", "done"}
    assert server.ended(server.submit("and one that is wanted"))["state"] == "done"
    assert server.ask("GET", "/health").json["jobs"]["running"] == 0


def test_a_forked_job_is_cancelled_too(tmp_path: Path) -> None:
    server = Server(tmp_path, "--launch", "fork")
    try:
        name = server.submit("hold on until you are cancelled")
        child = server.held()
        assert cancel(server, name).json["state"] == "cancelled"
        until(lambda: not alive(child), "the forked process has ended")
        server.go()
        assert server.ended(server.submit("the next one"))["state"] == "done"
    finally:
        server.stop()


def test_a_cancelled_job_is_not_begun_again_by_the_next_server(tmp_path: Path) -> None:
    first = Server(tmp_path)
    name = first.submit("hold on")
    first.held()
    cancel(first, name)
    first.kill()
    second = Server(tmp_path)
    try:
        assert second.job(name)["state"] == "cancelled"
        assert not second.said[0].startswith("jobs that ran")
    finally:
        second.stop()


def test_a_database_from_before_jobs_could_be_cancelled_is_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    store = import_module("speech_notes.store")
    file = tmp_path / "jobs.sqlite3"
    with sqlite3.connect(file) as database:
        database.executescript(FIRST_VERSION)
        for number, state in enumerate(("queued", "done", "killed")):
            database.execute(
                "INSERT INTO jobs (id, state, transcript, created) VALUES (?, ?, ?, 1.0)",
                (f"job-{number}", state, f"text {number}"),
            )
    database.close()
    found = store.Store(file)

    assert [found.job(f"job-{number}").state for number in range(3)] == ["queued", "done", "killed"]
    assert found.cancel("job-0").state == "cancelled"
    assert found.cancel("job-1") is None
    assert found.submit("a new one", 10).state == "queued"
    assert found.take()[1] == "a new one"
    assert store.Store(file).counts()["cancelled"] == 1


FIRST_VERSION = """
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'killed')),
    attempt INTEGER NOT NULL DEFAULT 0,
    transcript TEXT NOT NULL,
    created REAL NOT NULL,
    started REAL,
    finished REAL,
    error TEXT,
    signal TEXT,
    note TEXT,
    process TEXT
) STRICT;
CREATE INDEX jobs_by_state ON jobs (state, number);
PRAGMA user_version = 1;
"""
