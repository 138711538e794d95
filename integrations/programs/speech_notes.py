"""Starts the service of `examples/speech_notes` with vLLM, sends it a transcript, and tells what came back.

    speech_notes.py MODEL FOLDER [OPTIONS OF THE SERVICE]
    speech_notes.py MODEL FOLDER --by-hand

`--by-hand` runs the script alone, in a shell's place: no server, and nothing awake anywhere.
"""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import tempfile
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
    server = subprocess.Popen(
        [sys.executable, "-m", "speech_notes", "--port", "0", "--data", data, *ENGINE, model, *options],
        cwd=EXAMPLE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline().rpartition(":")[2])
        print(f"the server: {asked(port, 'GET', '/about')['awake'] or 'nothing'} awake", flush=True)
        follow(port, asked(port, "POST", "/transcripts", TRANSCRIPT)["id"])
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


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
