"""The README: what it shows is what is said, and its first command is the demonstration."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pages import ROOT, run

pytestmark = pytest.mark.once

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
TRACEBACK, FINDING = re.findall(r"^```text\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_the_traceback_is_the_captured_one() -> None:
    log = (ROOT / "tests/diagnose/captured/broken_engine-3.11.log").read_text(encoding="utf-8")
    parts = TRACEBACK.split("  ...\n")
    assert len(parts) == 2
    assert [part for part in parts if part not in log] == []


def test_the_finding_is_what_check_prints(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "nothing").mkdir()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    printed = run("coldfork check examples/broken_engine --site-packages nothing", tmp_path, cache)
    assert printed.startswith(FINDING)
    page = (ROOT / "docs" / "how-to" / "check.md").read_text(encoding="utf-8")
    assert f"```text\n{printed[: printed.index('2 causes')]}" in page


def test_it_begins_with_the_demonstration_and_stays_short() -> None:
    first, second, *_ = re.findall(r"^ {4}((?:\./dev|coldfork) .*)$", TEXT, re.MULTILINE)
    assert (first, second) == ("./dev coldfork demo", "./dev coldfork check PATH")
    assert len(TEXT.splitlines()) <= 90
