"""lazy-init-in-captured-region: what is said of it."""

from __future__ import annotations

from collections.abc import Callable

from inline_snapshot import snapshot

from coldfork.model.captures import CaptureKind
from coldfork.model.findings import Finding
from tests.rules.capturing import captured, judged

Say = Callable[[Finding], str]
KIND = CaptureKind.INITIALISES_LAZILY
WHAT = "self._ready"


def test_says_what_happens_where_and_what_to_do(said: Say) -> None:
    assert said(judged(captured(KIND, WHAT))) == snapshot("""\
error[lazy-init-in-captured-region] captured code initialises self._ready on its first run
  only, at engine/backend.py:17
captured by Runner.capture
a run before the capture leaves that work out of the graph, and without one it is recorded
  but not executed
do it in every run, or before the capture if it is the same for every batch\
""")
