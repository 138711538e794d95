"""Serves an application that has a worker pool, asks it, kills a worker of gunicorn, and asks again.

pool_gunicorn.py [OPTION...]
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

PORT = 8913
HERE = Path(__file__).parent
LIMIT = 60.0


def main(options: list[str]) -> None:
    """Start, ask, kill, ask, stop."""
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "gunicorn", "--no-control-socket", *options),
            *("--workers", "1", "--timeout", "60", "--bind", f"127.0.0.1:{PORT}", "--chdir", str(HERE)),
            "pool_gunicorn_application:application",
        ]
    )
    try:
        print("asked:", ask(server), flush=True)
        (worker,) = children(server.pid, "pool_gunicorn_application")
        started = descendants(worker)
        os.kill(worker, signal.SIGKILL)
        print("left of a worker that was killed:", left(started), flush=True)
        print("asked again:", ask(server), flush=True)
        started = descendants(server.pid)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(LIMIT)
    print("gunicorn ended with", server.returncode)
    print("left of it:", left(started))


def ask(server: subprocess.Popen[bytes]) -> str:
    """Return the application's answer, once it listens."""
    until = time.monotonic() + LIMIT
    while server.poll() is None and time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/", timeout=LIMIT) as answer:
                text: str = answer.read().decode()
        except OSError:
            time.sleep(0.1)
        else:
            return text.strip()
    return "no answer"


def children(pid: int, words: str) -> list[int]:
    """The children of a process in whose command these words are."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [int(child) for child in listed if words.encode() in Path(f"/proc/{child}/cmdline").read_bytes()]


def descendants(root: int) -> set[int]:
    """All that a process has started."""
    found: set[int] = set()
    waiting = [root]
    while waiting:
        try:
            for task in Path(f"/proc/{waiting.pop()}/task").iterdir():
                listed = [int(pid) for pid in (task / "children").read_text(encoding="ascii").split()]
                waiting += listed
                found.update(listed)
        except OSError:
            continue
    return found


def left(pids: set[int]) -> int:
    """How many of these have not ended within the limit."""
    count = 0
    for pid in pids:
        try:
            process = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        count += not select.select([process], [], [], LIMIT)[0]
        os.close(process)
    return count


if __name__ == "__main__":
    main(sys.argv[1:])
