"""Starts a Celery worker with a prefork pool, sends it one task, and tells what came."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Start, ask, stop."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("queue", "control", "results"):
            (Path(folder) / name).mkdir()
        os.environ["CELERY_FOLDER"] = folder
        worker = subprocess.Popen(
            [
                *(sys.executable, "-m", "celery", "--app", "celery_tasks", "--workdir", str(HERE), "worker"),
                *("--pool", "prefork", "--concurrency", "1", "--time-limit", "20", "--loglevel", "WARNING"),
                *("--without-gossip", "--without-mingle", "--without-heartbeat"),
            ],
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])},
        )
        try:
            print("the task:", ask(), flush=True)
        finally:
            worker.send_signal(signal.SIGTERM)
            print("celery ended with", worker.wait(60))


def ask() -> str:
    """Return the task's result, or the reason why there is none."""
    sys.path.insert(0, str(HERE))
    # The module lets torch work; this process forks nothing after it.
    import celery_tasks
    from celery import exceptions

    try:
        return f"{celery_tasks.total.delay().get(timeout=90):.0f}"
    except (exceptions.TimeLimitExceeded, exceptions.TimeoutError) as error:
        return f"no result ({type(error).__name__}: {error})"


if __name__ == "__main__":
    main()
