"""A Celery application one of whose tasks has a worker pool, in a process that is a daemon."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pool_tasks
from celery import Celery

import coldfork

QUEUE = Path(os.environ["CELERY_FOLDER"])

app = Celery("pool_celery_tasks", broker="filesystem://", backend=f"file://{QUEUE / 'results'}")
app.conf.broker_transport_options = {
    "data_folder_in": str(QUEUE / "queue"),
    "data_folder_out": str(QUEUE / "queue"),
    "control_folder": str(QUEUE / "control"),
}


@app.task
def work() -> str:
    """Return the pool's result."""
    with coldfork.WorkerPool(2, preload=["pool_tasks"]) as pool:
        number = pool.submit(pool_tasks.double, 21).result(60)
        died = type(pool.submit(pool_tasks.leave, 3).exception(60)).__name__
        last = list(pool.map(pool_tasks.double, range(3)))
    daemon = multiprocessing.current_process().daemon
    return f"{number}, then {died}, then {last}; {'a daemon' if daemon else 'no daemon'}"
