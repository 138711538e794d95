"""The worker pool inside gunicorn, Celery and a notebook's kernel: `./dev integration pool_hosts`"""

from __future__ import annotations

import sys

from integrations.environment import Ended, Environment
from integrations.transcript import Transcript, main

ENVIRONMENT = Environment(
    "pool_hosts", ("gunicorn==27.0.1", "celery==5.7.0", "nbclient==0.11.0", "ipykernel==7.4.0")
)
NOISE = (
    r"^ ?[-*]|^ +\.>|SecurityWarning|superuser|recommended|--uid|^User information|_warn_or_raise|hostname"
    r"|\[INFO\]|\[ERROR\] Worker|Perhaps out of memory"
)

INTRODUCTION = """
`./dev integration pool_hosts` installs gunicorn 27.0.1, Celery 5.7.0 and a Jupyter kernel, and has each of
them use `coldfork.WorkerPool`: a task, a task whose worker dies, and a task after it.
"""


def run() -> Transcript:
    """Each host in turn."""
    ENVIRONMENT.prepare()
    transcript = Transcript("The worker pool inside other programs", INTRODUCTION)
    served = (
        r"^asked: 42, then WorkerDiedError, then 8$",
        r"^left of a worker that was killed: 0$",
        r"^asked again: 42, then WorkerDiedError, then 8$",
        r"^gunicorn ended with 0$",
        r"^left of it: 0$",
    )
    transcript.step(
        "gunicorn, whose worker makes a pool for its first request. It is killed and replaced in between.",
        _ran("pool_gunicorn"),
        *served,
    )
    transcript.step("The same with `--preload`.", _ran("pool_gunicorn", "--preload"), *served)
    transcript.step(
        "With `--preload` and a pool that is made at import: the worker is told that it is not its own.",
        _ran("pool_gunicorn", "--preload", variables={"POOL_AT_IMPORT": "1"}),
        r"^asked: PoolError: this pool belongs to process \d+, which forked this one",
        r"^left of a worker that was killed: 0$",
        r"^gunicorn ended with 0$",
        r"^left of it: 0$",
    )
    task = r"^the task: 42, then WorkerDiedError, then \[0, 2, 4\]; "
    transcript.step(
        "Celery's prefork pool, whose processes are daemons and may not have children of `multiprocessing`.",
        _ran("pool_celery"),
        rf"{task}.*\n(.*\n)*{task}",
        r"^celery ended with 0$",
    )
    transcript.step(
        "A notebook: functions and classes from cells, with what they refer to as it is when they are sent.",
        _ran("pool_notebook"),
        r"^12 \[3, 4, 5\]$",
        r"^20$",
        r"^True$",
        r"^WorkerDiedError 10$",
        r"^KeyError\('meant'\)$",
        r"^30$",
    )
    return transcript


def _ran(program: str, *arguments: str, variables: dict[str, str] | None = None) -> Ended:
    return ENVIRONMENT.watch_program(program, *arguments, variables=variables, still=90).without(NOISE)


if __name__ == "__main__":
    sys.exit(main("pool_hosts", run))
