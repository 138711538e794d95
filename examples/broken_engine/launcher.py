"""Starts the workers. Nothing here mentions a GPU, and yet the parent is warm before the first fork."""

from __future__ import annotations

import multiprocessing

from broken_engine.config import EngineConfig
from broken_engine.worker import serve


def launch(config: EngineConfig) -> None:
    """Fork one process for each worker and wait for them."""
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=serve, args=(config, rank)) for rank in range(config.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
