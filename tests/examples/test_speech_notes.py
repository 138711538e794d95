"""The speech notes over real HTTP: jobs, progress, all kinds of ends, limits, restarts, a device awake."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sqlite3
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.examples.speech_notes_serving import EXAMPLE, LAUNCHES, MOST_BYTES, Server, alive, until

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

RAW = (
    "so we found the line that woke the device on tuesday i think we should mend it first "
    "what about the tests"
)
WRITTEN = (
    "So we found the line that woke the device on Tuesday. I think we should mend it first. "
    "What about the tests?"
)
LONG = " ".join(f"we counted {number} lines of the report on monday" for number in range(60))
TEXT = {"content-type": "text/plain"}
JSON = {"content-type": "application/json"}
HTML = {"content-type": "text/html"}


@pytest.fixture(scope="module", params=LAUNCHES)
def launch(request: pytest.FixtureRequest) -> str:
    """How the work is done."""
    named: str = request.param
    return named


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, launch: str) -> Iterator[Server]:
    """One server for the tests that leave it as it was; at its end it has complained of nothing."""
    started = Server(tmp_path_factory.mktemp("served"), "--launch", launch, "--most-queued", "2")
    try:
        assert started.port
        yield started
    finally:
        started.stop()
    assert "Traceback" not in started.errors()
    assert "ERROR" not in started.errors()


@pytest.fixture
def held(server: Server) -> Iterator[Server]:
    """The server while its engine waits; what waits is let go in the end."""
    server.hold()
    yield server
    server.go()
    until(lambda: not (server.ask("GET", "/health").json["jobs"]["running"]), "nothing runs")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for servers that are stopped and started; none outlives its test."""
    yield tmp_path
    assert "Traceback" not in (tmp_path / "errors").read_text(encoding="utf-8")


# --- what it is for ---


@pytest.mark.must_hold
def test_a_transcript_becomes_a_note_in_an_isolated_process(server: Server, launch: str) -> None:
    answer = server.ask("POST", "/transcripts", RAW.encode(), TEXT)
    assert answer.status == 202
    assert answer.json["state"] == "queued"
    assert answer.headers["location"] == f"/jobs/{answer.json['id']}"
    job = server.ended(answer.json["id"])
    assert job["state"] == "done", job
    assert job["note"]["paragraphs"] == [WRITTEN]
    assert job["note"]["summary"]
    assert all(sentence in WRITTEN for sentence in job["note"]["summary"])
    assert job["process"]["launch"] == launch
    assert (job["process"]["start_method"], job["process"]["enforced"]) == ("spawn", True)
    # What is no longer needed does not stay: neither the result file nor the run of a job that is done.
    assert server.left() == []
    assert job["created"] <= job["started"] <= job["finished"]


def test_a_transcript_may_come_as_json(server: Server) -> None:
    answer = server.ask("POST", "/transcripts", json.dumps({"text": RAW}), JSON)
    assert answer.status == 202
    assert server.ended(answer.json["id"])["note"]["paragraphs"] == [WRITTEN]


@pytest.mark.must_hold
def test_progress_is_heard_while_the_work_is_done(held: Server) -> None:
    name = held.submit(f"hold on {LONG}")
    heard = []
    for job in held.events(name):
        heard.append(job)
        if job["progress"] and job["progress"]["stage"] == "punctuating":
            assert job["note"] is None
            held.go()
    last = heard[-1]
    assert last["state"] == "done"
    assert [job["state"] for job in heard] == sorted((job["state"] for job in heard), key=ORDER.index)
    steps = [job["progress"]["done"] for job in heard if job["progress"]]
    assert steps == sorted(steps)
    assert {job["progress"]["total"] for job in heard if job["progress"]} == {
        len(last["note"]["paragraphs"]) + 2
    }


ORDER = ("queued", "running", "done")


def test_a_stream_of_a_job_that_has_ended_tells_the_end_and_is_not_opened_twice(server: Server) -> None:
    name = server.submit(RAW)
    server.ended(name)
    (only,) = server.events(name)
    assert only["state"] == "done"
    # This is how a browser asks again after a stream has ended, and how it is told to leave it.
    again = server.ask("GET", f"/jobs/{name}/events", headers={"last-event-id": "done"})
    assert (again.status, again.body) == (204, b"")


# --- other ends ---


@pytest.mark.must_hold
def test_a_killed_job_is_reported_as_killed_and_the_next_one_is_done(held: Server, launch: str) -> None:
    name = held.submit("hold on until somebody kills you")
    victim = held.held()
    os.kill(victim, signal.SIGKILL)
    job = held.ended(name)
    assert (job["state"], job["signal"]) == ("killed", "SIGKILL")
    who = {"isolated": "the script", "pool": f"the worker that ran the task (pid {victim})"}[launch]
    assert job["error"] == f"{who} was killed by SIGKILL"
    assert job["note"] is None
    held.go()
    assert held.ended(held.submit(RAW))["state"] == "done"


def test_an_engine_that_fails_fails_its_job_and_nothing_else(server: Server) -> None:
    job = server.ended(server.submit("fail with a message"))
    assert job["state"] == "failed"
    assert job["error"] == "ValueError: <img src=x onerror=stolen=1> & no such luck"
    # What the process of a job that failed wrote is kept for whoever wants to know more.
    assert "in punctuate" in server.logged()
    assert server.ended(server.submit(RAW))["state"] == "done"


def test_it_does_as_it_is_told_where_it_listens_and_how_long_a_job_may_take(
    tmp_path: Path, launch: str
) -> None:
    server = Server(tmp_path, "--launch", launch, "--host", "127.0.0.2", "--timeout", "0.3")
    try:
        job = server.ended(server.submit("hold on for ever"))
        assert job["state"] == "failed"
        assert re.fullmatch(TOOK_TOO_LONG[launch], job["error"])
        assert server.host == "127.0.0.2"
        with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", server.port), 10):
            pass
    finally:
        server.stop()


TOOK_TOO_LONG = {
    "isolated": "the script exceeded its timeout, and was ended",
    "pool": r"the task has run for 0\.3 s, and its worker \(pid \d+\) was killed",
}


@pytest.mark.parametrize(("named", "shown"), [("1", "GPU-b"), ("0,1", "GPU-a,GPU-b"), ("none", "-1")])
def test_an_engine_is_shown_the_devices_that_were_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launch: str, named: str, shown: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-a,GPU-b")
    server = Server(tmp_path, "--launch", launch, "--devices", named)
    try:
        job = server.ended(server.submit("show them"))
    finally:
        server.stop()
    assert job["note"]["paragraphs"] == [f"Devices: {shown}."]


def test_no_more_jobs_wait_than_may(held: Server) -> None:
    running = held.submit("hold the worker")
    held.held()
    waiting = [held.submit("hold no more"), held.submit("hold no more")]
    refused = held.ask("POST", "/transcripts", RAW.encode(), TEXT)
    assert (refused.status, refused.headers["retry-after"]) == (503, "30")
    held.go()
    assert {held.ended(name)["state"] for name in (running, *waiting)} == {"done"}


# --- what is not let in ---


LINE = b"words and words \n"
TOO_LARGE = {"detail": f"a transcript may have {MOST_BYTES} bytes here"}


@pytest.mark.must_hold
@pytest.mark.parametrize("announced", [True, False], ids=["announced", "unannounced"])
def test_what_is_too_large_is_refused(server: Server, announced: bool) -> None:
    lines = [LINE * 64] * 512
    if announced:
        answer = server.ask("POST", "/transcripts", b"".join(lines), TEXT)
    else:
        answer = server.ask("POST", "/transcripts", iter(lines), TEXT | CHUNKED, chunked=True)
    assert (answer.status, answer.json) == (413, TOO_LARGE)
    assert answer.headers["connection"] == "close"


def test_what_is_announced_as_far_too_large_is_refused_before_it_is_sent(server: Server) -> None:
    answer = server.ask("POST", "/transcripts", None, TEXT | {"content-length": str(1 << 40)})
    assert (answer.status, answer.json) == (413, TOO_LARGE)


def test_who_never_stops_sending_is_hung_up_on(server: Server) -> None:
    sent = 0
    with socket.create_connection(("127.0.0.1", server.port), 60) as connection:
        connection.sendall(
            b"POST /transcripts HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        try:
            while sent < 256 << 20:
                connection.sendall(chunk)
                sent += len(chunk)
        except ConnectionError:
            pass
    assert sent < 128 << 20


CHUNKED = {"transfer-encoding": "chunked"}


def test_the_limit_is_that_of_the_text_however_it_is_written(server: Server) -> None:
    # 2 bytes in UTF-8, and 6 as JSON escapes it.
    most = "ä" * (MOST_BYTES // 2)
    escaped = json.dumps({"text": most})
    assert len(escaped) > 2 * MOST_BYTES
    assert server.ask("POST", "/transcripts", escaped, JSON).status == 202
    assert server.ask("POST", "/transcripts", json.dumps({"text": most + "ä"}), JSON).status == 413
    assert server.ask("POST", "/transcripts", f"{most}ä".encode(), TEXT).status == 413


@pytest.mark.parametrize(
    ("body", "headers", "status", "why"),
    [
        (b"", TEXT, 422, "there are no words in it"),
        (b" \n\t ... ", TEXT, 422, "there are no words in it"),
        (b"caf\xe9", TEXT, 400, "the body is no UTF-8"),
        (b"a\0b", TEXT, 422, "the text holds a null character"),
        (
            b"<a>b</a>",
            {"content-type": "text/html"},
            415,
            "send text/plain or application/json, not text/html",
        ),
        (b"{", JSON, 400, "the body is no JSON"),
        (b"[" * 100_000, JSON, 400, "the body is no JSON"),
        (b'"words"', JSON, 422, 'send {"text": "..."}'),
        (b'{"text": 5}', JSON, 422, 'send {"text": "..."}'),
        (rb'{"text": "half \ud83d"}', JSON, 422, "the text holds half a character"),
    ],
)
def test_what_is_no_transcript_is_refused_with_a_reason(
    server: Server, body: bytes, headers: dict[str, str], status: int, why: str
) -> None:
    answer = server.ask("POST", "/transcripts", body, headers)
    assert (answer.status, answer.json) == (status, {"detail": why})


def test_what_is_not_there_is_not_found(server: Server) -> None:
    for path in ("/jobs/nothing", "/jobs/nothing/events", "/jobs/' OR 1=1 --".replace(" ", "%20")):
        answer = server.ask("GET", path)
        assert (answer.status, answer.json) == (404, {"detail": "there is no such job"})


@pytest.mark.must_hold
def test_it_listens_to_this_host_alone(server: Server) -> None:
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.2", server.port), 10):
        pass


def test_pages_from_elsewhere_and_names_from_elsewhere_are_turned_away(server: Server) -> None:
    here = f"127.0.0.1:{server.port}"
    for headers in (
        {"origin": "https://elsewhere.example"},
        {"origin": "null"},
        {"origin": f"http://127.0.0.1:{server.port + 1}"},
        {"host": f"elsewhere.example:{server.port}"},
        {"host": "127.0.0.1.elsewhere.example"},
        {"host": "["},
    ):
        answer = server.ask("POST", "/transcripts", RAW.encode(), TEXT | headers)
        assert answer.status == 403, headers
    own = server.ask("POST", "/transcripts", RAW.encode(), TEXT | {"origin": f"http://{here}"})
    assert own.status == 202


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.7.7", False),
        ("elsewhere.example", False),
    ],
)
def test_what_is_open_to_the_network_is_known_to_be(
    host: str, local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    assert import_module("speech_notes.same_origin").is_local(host) is local


def test_no_step_is_held_back_until_the_one_before_has_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    with (
        import_module("speech_notes.__main__")._listen("127.0.0.1", 0) as door,
        socket.create_connection(door.getsockname(), 60),
    ):
        connection, _ = door.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1


def test_the_page_needs_nothing_from_elsewhere(server: Server) -> None:
    for path, kind in (("/", "text/html"), ("/page.css", "text/css"), ("/page.js", "text/javascript")):
        answer = server.ask("GET", path)
        assert answer.status == 200
        assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert b"://" not in answer.body


def test_what_can_be_fetched_can_be_asked_about(server: Server) -> None:
    name = server.submit(RAW)
    server.ended(name)
    for path in ("/", "/page.css", "/page.js", "/about", "/health", f"/jobs/{name}"):
        until(partial(asked_about, server, path), f"{path} stays as it is for a moment")


def asked_about(server: Server, path: str) -> bool:
    """Compare HEAD with GET, unless what is said there, such as the number of warm workers, has changed."""
    whole, head, again = (server.ask(method, path) for method in ("GET", "HEAD", "GET"))
    if whole.body != again.body:
        return False
    assert (head.status, head.body) == (200, b""), path
    for header in ("content-type", "content-length"):
        assert head.headers[header] == whole.headers[header], path
    return True


@pytest.mark.must_hold
def test_who_hangs_up_in_the_middle_of_anything_leaves_nothing_in_the_log(server: Server) -> None:
    until(lambda: server.ask("GET", "/health").json["healthy"], "it works")
    before = server.errors()
    name = server.submit("hold on")
    for started in (
        b"POST /transcripts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\nhalf a text",
        b"POST /transcripts HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        f"GET /jobs/{name}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(),
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HT",
    ):
        for reset in (False, True):
            hang_up(server, started, reset=reset)
    server.go()
    server.ended(name)
    lines = server.errors().removeprefix(before).splitlines()
    assert [line for line in lines if not line.startswith(("INFO", "WARNING:  Invalid HTTP"))] == []


def hang_up(server: Server, started: bytes, *, reset: bool) -> None:
    """Say something, and go; with `reset` as a client that died does."""
    with socket.create_connection(("127.0.0.1", server.port), 60) as connection:
        connection.sendall(started)
        if b"events" in started:
            assert connection.recv(1)
        if reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    # One that is answered afterwards has been accepted afterwards.
    assert server.ask("GET", "/health").status == 200


@pytest.mark.must_hold
def test_only_its_owner_can_read_what_it_keeps_also_in_a_folder_that_was_there(
    tmp_path: Path, launch: str
) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    (data / "jobs.sqlite3").touch(mode=0o644)
    previous = os.umask(0o022)
    try:
        server = Server(tmp_path, "--launch", launch)
    finally:
        os.umask(previous)
    try:
        server.hold()
        name = server.submit("hold on")
        server.held()
        # SQLite keeps the files beside the database while somebody has it open.
        reader = sqlite3.connect(data / "jobs.sqlite3")
        reader.execute("SELECT count(*) FROM jobs").fetchone()
        found = {path.relative_to(data): path.stat().st_mode & 0o077 for path in data.rglob("*")}
        server.go()
        server.ended(name)
        server.ended(server.submit("fail please"))
        reader.close()
        found |= {path.relative_to(data): path.stat().st_mode & 0o077 for path in data.rglob("*")}
    finally:
        server.stop()
    logs = Path({"isolated": "runs", "pool": "workers"}[launch])
    assert {Path("jobs.sqlite3"), Path("jobs.sqlite3-wal"), Path("lock"), logs} <= found.keys()
    assert [path for path in found if logs in path.parents] != []
    # What lies in a folder that nobody else may enter is out of their reach, whatever its own mode says.
    shut = {path for path, mode in found.items() if mode == 0}
    assert [path for path in found if path not in shut and not shut & set(path.parents)] == []
    # The folder itself is its owner's business.
    assert data.stat().st_mode & 0o777 == 0o755


def test_its_health_is_what_it_is(held: Server) -> None:
    name = held.submit("hold the worker")
    held.held()
    health = held.ask("GET", "/health")
    assert health.status == 200
    assert (health.json["healthy"], health.json["workers"]) == (True, 1)
    assert health.json["jobs"]["running"] == 1
    held.go()
    held.ended(name)


# --- servers that end ---


@pytest.mark.must_hold
@pytest.mark.once
def test_jobs_survive_a_server_that_dies_and_one_that_is_stopped(folder: Path, launch: str) -> None:
    first = Server(folder, "--launch", launch)
    before = first.ended(first.submit(RAW))
    running, waiting = first.submit("hold the worker now"), first.submit("hold behind it")
    script = first.held()
    first.kill()
    until(lambda: not alive(script), "the script of a dead server has ended")

    second = Server(folder, "--launch", launch)
    assert second.port
    assert second.said[0] == "jobs that ran when the server died: 1 begun again, 0 given up"
    assert second.job(before["id"]) == before
    script = second.held()
    assert (second.job(running)["state"], second.job(running)["attempt"]) == ("running", 2)
    assert second.job(waiting)["state"] == "queued"
    refused = Server(folder)
    assert refused.process.wait(120) == 2
    assert f"another server works on {folder / 'data'}" in refused.errors()
    refused.kill()
    stream = second.events(running)
    assert next(stream)["state"] == "running"
    second.stop()
    assert not alive(script)
    # The stream was open all the while, and whoever reads it sees its end.
    assert [job["state"] for job in stream] in ([], ["running"])

    third = Server(folder, "--launch", launch)
    third.go()
    for name in (running, waiting):
        assert third.ended(name)["state"] == "done"
    # Being stopped is nothing that a job did, and is not counted; being left running may be.
    assert third.job(running)["attempt"] == 2
    assert third.job(waiting)["attempt"] == 1
    third.stop()


def test_what_cannot_work_is_said_at_once(tmp_path: Path, server: Server) -> None:
    for options, why in (
        (("--engine", "nothing"), "error: there is no engine 'nothing': embedded, vllm, or module:Class"),
        (("--port", str(server.port)), f"error: cannot listen on 127.0.0.1, port {server.port}"),
    ):
        refused = Server(tmp_path / options[0], *options, engine=None)
        assert refused.process.wait(120) == 2
        assert refused.errors().startswith(why)
        refused.kill()


# --- the device ---


@pytest.mark.must_hold
@pytest.mark.once
def test_beside_a_device_that_is_awake_a_fork_fails_and_an_isolated_process_works(tmp_path: Path) -> None:
    """The trouble that this example is about, and its end."""
    pytest.importorskip("torch")
    launches = {
        launch: Server(tmp_path / launch, *AWAKE, launch, engine="embedded") for launch in ("fork", *LAUNCHES)
    }
    try:
        jobs = {launch: server.submit(RAW) for launch, server in launches.items()}
        ends: dict[str, Any] = {launch: launches[launch].ended(name) for launch, name in jobs.items()}
        for server in launches.values():
            assert server.ask("GET", "/about").json["awake"] == ["cuda"]
    finally:
        for server in launches.values():
            server.stop()
    assert ends["fork"]["state"] == "failed"
    assert ends["fork"]["error"].startswith("RuntimeError: Cannot re-initialize CUDA in forked subprocess.")
    for launch in LAUNCHES:
        assert ends[launch]["state"] == "done", ends[launch]
        assert ends[launch]["note"]["paragraphs"] == [WRITTEN]
        # Not spared the device: the engine has claimed it for itself, and got it.
        assert ends[launch]["process"]["awake"] == ["cuda"]


AWAKE = ("--awake", "h100", "--launch")


def test_the_readme_names_what_exists() -> None:
    text = (EXAMPLE / "README.md").read_text(encoding="utf-8")
    assert "python -m speech_notes" in text
    listed = [
        line.split("`")[1] for line in text.partition("## Where to look")[2].splitlines() if "`" in line
    ]
    assert len(listed) > 5
    assert [name for name in listed if not (EXAMPLE / name).exists()] == []
