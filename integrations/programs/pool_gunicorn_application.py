"""A WSGI application that has a worker pool do its work: made at import, or by the first request."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import pool_tasks

import coldfork


@cache
def pool(_pid: int) -> coldfork.WorkerPool:
    """The pool of this process."""
    return coldfork.WorkerPool(2, preload=["pool_tasks"])


if os.environ.get("POOL_AT_IMPORT"):
    MADE = pool(os.getpid())


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Answer with what the pool worked out, and with who did it."""
    chosen = MADE if os.environ.get("POOL_AT_IMPORT") else pool(os.getpid())
    try:
        number = chosen.submit(pool_tasks.double, 21).result(60)
        died = type(chosen.submit(pool_tasks.leave, 3).exception(60)).__name__
        text = f"{number}, then {died}, then {chosen.submit(pool_tasks.double, 4).result(60)}"
    except coldfork.ColdforkError as error:
        text = f"{type(error).__name__}: {error}"
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [text.encode()]
