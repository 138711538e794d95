"""The comments around a list in its file: what it is, how it came about, and what is not in it."""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.forking.preloads import Preloading
from coldfork.report.preloads.words import percent


def head(result: Preloading, version: str) -> Iterator[str]:
    """What stands above the list."""
    yield f"What a zygote may import before it forks workers; made by coldfork {version}:"
    yield f"  coldfork preload {' '.join(result.wanted)}"
    yield "Take it with coldfork.zygote(preload=FILE). In continuous integration:"
    yield "  coldfork preload --check FILE"
    share = result.share
    if share is not None:
        yield f"It spares a worker {percent(share)} of its imports, as measured on {result.device}."


def foot(result: Preloading) -> Iterator[str]:
    """What is left out, and why."""
    if result.left_out:
        yield "Left out:"
    for left in result.left_out:
        place = "" if left.path is None else f", {left.path}" + ("" if left.line is None else f":{left.line}")
        yield f"  {left.module}: {left.reason}{place}"
