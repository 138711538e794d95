"""gunicorn --preload, which forks what the application's import left behind: `./dev integration gunicorn`"""

from __future__ import annotations

import sys

from integrations.environment import Ended, Environment
from integrations.transcript import Transcript, main

ENVIRONMENT = Environment("gunicorn", ("torch==2.13.0+cpu", "numpy", "gunicorn==27.0.1"))
PROGRAM = "gunicorn_serve"

INTRODUCTION = """
`./dev integration gunicorn` installs gunicorn 27.0.1 and serves with `--preload` an application that
answers with a sum that torch computes. One request is sent.
"""


def run() -> Transcript:
    """One request to a server that is plain, guarded, or mended in either of two ways."""
    ENVIRONMENT.prepare()
    transcript = Transcript("gunicorn --preload", INTRODUCTION)
    at_import = {"WARM_UP": "import"}
    transcript.step(
        "The application's module computes with torch once when it is imported, to warm up. The worker "
        "hangs at the first request, and is killed after gunicorn's timeout, which suggests a lack of "
        "memory.",
        _serve("gunicorn_plain.py", at_import),
        r"WORKER TIMEOUT",
        r"^asked: no answer",
    )
    transcript.step(
        'With `coldfork.guard("strict")` in gunicorn\'s configuration: the master refuses to fork, and names '
        "the module whose import did it.",
        _serve("gunicorn_guarded.py", at_import),
        r"^coldfork.model.errors.UnsafeForkError: os.fork was refused.*\(woken by gunicorn_application\b",
        r"^gunicorn ended with (?!0$)",
    )
    transcript.step(
        "Mended: each worker warms up by itself, in `post_worker_init`. The imported code is shared "
        "all the same.",
        _serve("gunicorn_later.py", {}),
        r"^a worker warmed up: 4000000$",
        r"^asked: process \d+: 4000000$",
        r"^gunicorn ended with 0$",
    )
    transcript.step(
        "Or, if the work has to stay in the import: libgomp releases its threads in `pre_fork`. The guard "
        "sees that nothing speaks against the fork any more.",
        _serve("gunicorn_paused.py", at_import),
        r"^asked: process \d+: 4000000$",
        r"^gunicorn ended with 0$",
    )
    return transcript


def _serve(configuration: str, variables: dict[str, str]) -> Ended:
    return ENVIRONMENT.watch_program(PROGRAM, configuration, variables=variables, still=60)


if __name__ == "__main__":
    sys.exit(main("gunicorn", run))
