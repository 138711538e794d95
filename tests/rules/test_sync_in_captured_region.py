"""sync-in-captured-region: what is said of it."""

from __future__ import annotations

from collections.abc import Callable

from inline_snapshot import snapshot

from coldfork.model.captures import CaptureKind
from coldfork.model.findings import Finding
from tests.rules.capturing import captured, judged

Say = Callable[[Finding], str]
KIND = CaptureKind.SYNCHRONISES
WHAT = "lengths.max().item()"


def test_says_what_happens_where_and_what_to_do(said: Say) -> None:
    assert said(judged(captured(KIND, WHAT))) == snapshot("""\
error[sync-in-captured-region] captured code waits for the device: lengths.max().item() at
  engine/backend.py:17
captured by Runner.capture
a stream under capture refuses this, and the capture is lost
do it before the capture, or keep the value on the device\
""")
