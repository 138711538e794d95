"""Serves an application with gunicorn --preload, asks it once, and tells what came.

gunicorn_serve.py CONFIGURATION
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

PORT = 8911
HERE = Path(__file__).parent


def main(configuration: str) -> None:
    """Start, ask, stop."""
    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "gunicorn", "--preload", "--no-control-socket"),
            *("--workers", "1", "--timeout", "10"),
            *("--bind", f"127.0.0.1:{PORT}", "--chdir", str(HERE), "--config", str(HERE / configuration)),
            "gunicorn_application:application",
        ]
    )
    try:
        wait_until_it_listens(server)
        if server.poll() is None:
            print("asked:", ask(), flush=True)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)
    print("gunicorn ended with", server.returncode)


def wait_until_it_listens(server: subprocess.Popen[bytes]) -> None:
    """Until the port is bound and a worker was started; or the server has given up."""
    while server.poll() is None:
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        if children:
            return
        time.sleep(0.1)


def ask() -> str:
    """Return the application's answer, or the reason why there is none."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/", timeout=30) as answer:
            text: str = answer.read().decode()
    except OSError as error:
        return f"no answer ({error})"
    return text.strip().replace(f"process {os.getpid()}", "the parent")


if __name__ == "__main__":
    main(sys.argv[1])
