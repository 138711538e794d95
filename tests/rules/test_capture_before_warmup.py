"""capture-before-warmup: what is said of it."""

from __future__ import annotations

from collections.abc import Callable

from inline_snapshot import snapshot

from coldfork.model.captures import CaptureKind
from coldfork.model.findings import Finding
from tests.rules.capturing import captured, judged

Say = Callable[[Finding], str]
KIND = CaptureKind.NOT_WARMED_UP
WHAT = "model"


def test_says_what_happens_where_and_what_to_do(said: Say) -> None:
    assert said(judged(captured(KIND, WHAT))) == snapshot("""\
error[capture-before-warmup] model is captured without having run before
captured by Runner.capture
what a first run sets up (handles, workspaces, compiled kernels) happens under capture,
  which refuses some of it and repeats the rest
run model a few times on a side stream before the capture\
""")
