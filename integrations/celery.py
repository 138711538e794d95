"""Celery's prefork pool, which forks what the tasks' import left behind: `./dev integration celery`"""

from __future__ import annotations

import sys

from integrations.environment import Environment
from integrations.transcript import Transcript, main

ENVIRONMENT = Environment("celery", ("torch==2.13.0+cpu", "numpy", "celery==5.7.0"))
NOISE = (
    r"^ ?[-*]|^ +\.>|SecurityWarning|superuser|recommended|--uid|^User information|_warn_or_raise|hostname"
)

INTRODUCTION = """
`./dev integration celery` installs Celery 5.7.0 and starts a worker with a prefork pool for a module of
tasks that computes with torch when it is imported. One task is sent. Since 5.7 Celery has
`worker_pool_start_method`, which accepts fork and spawn; coldfork sets it in the signal `celeryd_init`,
which is sent after the tasks are imported and before the pool is made.
"""


def run() -> Transcript:
    """One task, plain and with coldfork."""
    ENVIRONMENT.prepare()
    transcript = Transcript("Celery's prefork pool", INTRODUCTION)
    transcript.step(
        "As it is: the task hangs until its time limit ends the process.",
        ENVIRONMENT.watch_program("celery_work", still=90).without(NOISE),
        r"Hard time limit \(20\.0s\) exceeded for celery_tasks\.total",
        r"^the task: no result \(TimeLimitExceeded",
    )
    transcript.step(
        "With the start method that coldfork decides on.",
        ENVIRONMENT.watch_program("celery_work", variables={"WITH_COLDFORK": "1"}, still=90).without(NOISE),
        r"^coldfork: spawn, because this thread has run OpenMP regions of libgomp",
        r"^the task: 4000000$",
    )
    return transcript


if __name__ == "__main__":
    sys.exit(main("celery", run))
