"""A web application that answers with a sum, worked out by torch; `WARM_UP` says where torch works first."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import torch

Respond = Callable[[str, list[tuple[str, str]]], object]


def work() -> str:
    """Enough for more than one thread."""
    return f"{torch.ones(4_000_000).sum().item():.0f}"


if os.environ.get("WARM_UP") == "import":
    work()


def application(environ: dict[str, object], respond: Respond) -> Iterable[bytes]:
    """Answer a request."""
    respond("200 OK", [("Content-Type", "text/plain")])
    return [f"process {os.getpid()}: {work()}\n".encode()]
