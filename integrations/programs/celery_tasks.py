"""A Celery application whose module lets torch work when it is imported, and a task that does so again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch
from celery import Celery
from celery.signals import celeryd_init

QUEUE = Path(os.environ["CELERY_FOLDER"])

app = Celery("celery_tasks", broker="filesystem://", backend=f"file://{QUEUE / 'results'}")
app.conf.broker_transport_options = {
    "data_folder_in": str(QUEUE / "queue"),
    "data_folder_out": str(QUEUE / "queue"),
    "control_folder": str(QUEUE / "control"),
}


def work() -> float:
    """Enough for more than one thread."""
    return float(torch.ones(4_000_000).sum().item())


work()


@app.task
def total() -> float:
    """The sum, worked out in a process of the pool."""
    return work()


if os.environ.get("WITH_COLDFORK"):

    @celeryd_init.connect
    def choose_the_start_method(conf: Any = None, **_: object) -> None:
        """Celery knows fork and spawn; this comes before it reads which."""
        import coldfork

        decision = coldfork.decide()
        print("coldfork:", decision, flush=True)
        conf.worker_pool_start_method = "fork" if decision.method == "fork" else "spawn"
