"""Starts the service of `examples/speech_notes` with vLLM, sends it a transcript, and tells what came back.

    speech_notes.py MODEL FOLDER [OPTIONS OF THE SERVICE]
    speech_notes.py MODEL FOLDER --by-hand
    speech_notes.py MODEL FOLDER --in-turn ROUNDS

`--by-hand` runs the script alone, in a shell's place: no server, and nothing awake anywhere. `--in-turn` has
two services do so many jobs each, one with scripts and one with a pool, and tells how long they took.
"""

from __future__ import annotations

import http.client
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "speech_notes"
TRANSCRIPT = (
    "so we found the line that woke the device on tuesday i think we should mend it first "
    "what about the tests\n\n"
    "the quick brown fox jumps over the lazy dog"
)
PATIENCE = 540
ENGINE = ("--engine", "vllm", "--model")


def main(model: str, folder: str, *options: str) -> None:
    """Do it."""
    # Should it hang, what is begun below is ended in good order.
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(PATIENCE)
    with tempfile.TemporaryDirectory(dir=folder) as data:
        if options == ("--by-hand",):
            tell(by_hand(model, Path(data)))
        elif options[:1] == ("--in-turn",):
            in_turn(model, Path(data), int(options[1]))
        else:
            through_the_service(model, data, options)


def too_long(*_: object) -> None:
    """Give up."""
    raise TimeoutError(f"it took more than {PATIENCE} s")


def by_hand(model: str, data: Path) -> Any:
    """The note that the script writes when nobody else is there."""
    result = data / "note.json"
    subprocess.run(
        [sys.executable, EXAMPLE / "scripts" / "post.py", *ENGINE, model, "--result", result],
        input=TRANSCRIPT,
        text=True,
        check=True,
    )
    return json.loads(result.read_text(encoding="utf-8"))


def through_the_service(model: str, data: str, options: tuple[str, ...]) -> None:
    """Start the service, send the transcript, and follow its job to the end."""
    with served(model, data, options) as port:
        print(f"the server: {asked(port, 'GET', '/about')['awake'] or 'nothing'} awake", flush=True)
        follow(port, asked(port, "POST", "/transcripts", TRANSCRIPT)["id"])


@contextmanager
def served(model: str, data: str, options: tuple[str, ...]) -> Iterator[int]:
    """The port of a service that is ended with the block."""
    server = subprocess.Popen(
        [sys.executable, "-m", "speech_notes", "--port", "0", "--data", data, *ENGINE, model, *options],
        cwd=EXAMPLE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        yield int(server.stdout.readline().rpartition(":")[2])
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def in_turn(model: str, data: Path, rounds: int) -> None:
    """Have two services do jobs by turns, so that what the machine is busy with weighs on both."""
    with ExitStack() as services:
        ports = {
            launch: services.enter_context(served(model, str(data / launch), ("--launch", launch)))
            for launch in ("isolated", "pool")
        }
        seconds: dict[str, list[float]] = {launch: [] for launch in ports}
        for _ in range(rounds):
            signal.alarm(PATIENCE)
            for launch, port in ports.items():
                began = time.monotonic()
                ended = last(port, asked(port, "POST", "/transcripts", TRANSCRIPT)["id"])
                assert ended["state"] == "done", ended
                seconds[launch].append(time.monotonic() - began)
    for launch, each in seconds.items():
        # Not with the unit behind them: pages leave out how long something took, but for this.
        print(f"{launch}, in seconds: {statistics.median(each):.1f} ({min(each):.1f} to {max(each):.1f})")


def last(port: int, name: str) -> Any:
    """A job when it has ended."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", f"/jobs/{name}/events")
    *_, end = (json.loads(line[6:]) for line in connection.getresponse() if line.startswith(b"data: "))
    return end


def follow(port: int, name: str) -> None:
    """Print each stage of a job once, and its end."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", f"/jobs/{name}/events")
    said = None
    for line in connection.getresponse():
        if not line.startswith(b"data: "):
            continue
        job = json.loads(line[6:])
        progress = job["progress"]
        stage = f"{job['state']}: {progress['stage']}" if progress else job["state"]
        if stage != said:
            print(f"the job: {stage}", flush=True)
            said = stage
    if job["note"] is not None:
        process = job["process"]
        print(f"its process: {process['start_method']}, confirmed" if process.get("enforced") else process)
        tell(job["note"])
    else:
        print(f"the error: {job['error']}")


def asked(port: int, method: str, path: str, body: str | None = None) -> Any:
    """One request."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request(method, path, body, {"content-type": "text/plain"} if body else {})
    answer = connection.getresponse()
    return json.loads(answer.read())


def tell(note: Any) -> None:
    """The note."""
    for paragraph in note["paragraphs"]:
        print(f"paragraph: {paragraph}")
    for sentence in note["summary"]:
        print(f"summary: {sentence}")
    for remark in note["remarks"]:
        print(f"remark: {remark}")


if __name__ == "__main__":
    main(*sys.argv[1:])
