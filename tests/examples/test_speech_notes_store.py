"""The jobs in SQLite: one worker takes a job, and no death of a server loses one."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "speech_notes"
JOBS = 60
PROCESSES, THREADS = 3, 3

TAKER = f"""
import json, sys, threading
from pathlib import Path
from speech_notes.jobs import Ending, State
from speech_notes.store import Store

store = Store(Path(sys.argv[1]))
taken = []

def take():
    while (found := store.take()) is not None:
        job, transcript = found
        taken.append(transcript)
        assert store.finish(job, Ending(State.DONE))

threads = [threading.Thread(target=take) for _ in range({THREADS})]
print("ready", flush=True)
sys.stdin.readline()
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps(taken))
"""


@pytest.fixture(scope="module", autouse=True)
def importable() -> Iterator[None]:
    """Let the example's package be imported."""
    sys.path.insert(0, str(EXAMPLE))
    yield
    sys.path.remove(str(EXAMPLE))


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """An empty store."""
    return import_module("speech_notes.store").Store(tmp_path / "jobs.sqlite3")


def ending(state: str, **told: Any) -> Any:
    jobs = import_module("speech_notes.jobs")
    return jobs.Ending(jobs.State(state), **told)


@pytest.mark.must_hold
def test_several_processes_with_several_threads_never_take_the_same_job(store: Any, tmp_path: Path) -> None:
    names = [store.submit(f"transcript {number}", JOBS).id for number in range(JOBS)]
    takers = [
        subprocess.Popen(
            [sys.executable, "-c", TAKER, str(tmp_path / "jobs.sqlite3")],
            cwd=EXAMPLE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(PROCESSES)
    ]
    for taker in takers:
        assert taker.stdout is not None
        assert taker.stdout.readline() == "ready\n"
    # All begin when all are there.
    outputs = [taker.communicate("\n", timeout=120)[0] for taker in release(takers)]
    taken = [transcript for output in outputs for transcript in json.loads(output)]
    assert sorted(taken) == sorted(f"transcript {number}" for number in range(JOBS))
    assert {(job.state, job.attempt) for job in map(store.job, names)} == {("done", 1)}


def release(takers: list[Any]) -> list[Any]:
    """Let every process begin."""
    for taker in takers:
        taker.stdin.write("\n")
        taker.stdin.flush()
    return takers


def test_as_many_wait_as_may_however_many_submit_at_once(store: Any) -> None:
    accepted: list[Any] = []

    def submit() -> None:
        accepted.extend(store.submit("text", 7) for _ in range(5))

    threads = [threading.Thread(target=submit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(accepted) == 20
    assert sum(job is not None for job in accepted) == 7
    assert store.counts()["queued"] == 7


def test_jobs_are_taken_in_the_order_they_came_and_one_put_back_is_the_first_again(store: Any) -> None:
    for text in ("one", "two"):
        store.submit(text, 10)
    job, text = store.take()
    assert (text, job.state, job.attempt) == ("one", "running", 1)
    assert store.put_back(job)
    again, text = store.take()
    assert (text, again.attempt) == ("one", 1)
    assert store.take()[1] == "two"
    assert store.take() is None


@pytest.mark.must_hold
def test_what_ran_when_a_server_died_begins_again_and_is_given_up_in_the_end(store: Any) -> None:
    most = import_module("speech_notes.store").MOST_ATTEMPTS
    name = store.submit("text", 10).id
    for attempt in range(1, most + 1):
        job, _ = store.take()
        assert job.attempt == attempt
        assert store.recover() == ((1, 0) if attempt < most else (0, 1))
    job = store.job(name)
    assert (job.state, job.error) == (
        "failed",
        "the server died 3 times while this job ran, so it was not begun again",
    )
    assert store.take() is None


def test_an_attempt_that_was_overtaken_cannot_end_the_job(store: Any) -> None:
    store.submit("text", 10)
    first, _ = store.take()
    store.recover()
    second, _ = store.take()
    assert not store.finish(first, ending("failed", error="late"))
    assert not store.put_back(first)
    assert store.finish(second, ending("done", note={"summary": []}, process={"launch": "isolated"}))
    assert not store.finish(second, ending("failed"))
    job = store.job(second.id)
    assert (job.state, job.note, job.process) == ("done", {"summary": []}, {"launch": "isolated"})


def test_the_oldest_that_have_ended_are_forgotten_and_nothing_else(store: Any) -> None:
    names = [store.submit(f"{number}", 10).id for number in range(6)]
    ended = [store.take()[0] for _ in range(4)]
    for job, state in zip(ended, ("done", "killed", "failed"), strict=False):
        store.finish(job, ending(state))
    assert store.forget(1) == 2
    assert [store.job(name) is not None for name in names] == [False, False, True, True, True, True]
    assert store.forget(1) == 0


def test_a_database_of_another_version_is_left_alone(store: Any, tmp_path: Path) -> None:
    file = tmp_path / "jobs.sqlite3"
    database = sqlite3.connect(file)
    database.execute("PRAGMA user_version = 7")
    database.close()
    module = import_module("speech_notes.store")
    with pytest.raises(module.StoreError, match="another version"):
        module.Store(file)
    with pytest.raises(module.StoreError, match="cannot open"):
        module.Store(tmp_path / "no" / "folder")


def test_a_call_does_not_wait_for_the_disk_to_have_everything(store: Any, tmp_path: Path) -> None:
    # Who closes a database last writes all of it, and the store is open between its calls.
    store.submit("text", 10)
    store.take()
    assert (tmp_path / "jobs.sqlite3-wal").stat().st_size > 0


def test_no_other_state_can_be_written(store: Any, tmp_path: Path) -> None:
    store.submit("text", 10)
    database = sqlite3.connect(tmp_path / "jobs.sqlite3")
    with pytest.raises(sqlite3.IntegrityError):
        database.execute("UPDATE jobs SET state = 'lost'")
    database.close()
