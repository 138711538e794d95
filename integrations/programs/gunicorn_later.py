"""gunicorn's configuration with a guard, and with the warm-up in each worker after it was forked."""

from __future__ import annotations

import coldfork

coldfork.guard("strict")


def post_worker_init(worker: object) -> None:
    """Warm up where it can be used: the code is shared with the master all the same."""
    import gunicorn_application

    print("a worker warmed up:", gunicorn_application.work(), flush=True)
