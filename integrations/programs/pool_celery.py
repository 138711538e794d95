"""Starts a Celery worker, sends it two tasks that have a worker pool, and tells what came."""

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
        command = (
            sys.executable,
            "-m",
            "celery",
            "--app",
            "pool_celery_tasks",
            "--workdir",
            str(HERE),
            "worker",
        )
        worker = subprocess.Popen(
            [
                *command,
                *("--pool", "prefork", "--concurrency", "1", "--loglevel", "WARNING"),
                *("--without-gossip", "--without-mingle", "--without-heartbeat"),
            ],
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])},
        )
        try:
            sys.path.insert(0, str(HERE))
            import pool_celery_tasks

            for _ in range(2):
                print("the task:", pool_celery_tasks.work.delay().get(timeout=90), flush=True)
        finally:
            worker.send_signal(signal.SIGTERM)
            print("celery ended with", worker.wait(60))


if __name__ == "__main__":
    main()
