"""The README: what it shows is what is said, and its first command is the demonstration."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import ROOT, run

pytestmark = pytest.mark.once

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PICTURE = ROOT / "docs" / "pictures" / "finding.svg"


def shown() -> str:
    """The text of the picture, without what only places it."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", PICTURE.read_text("utf-8"))).split())


def test_the_picture_is_what_is_printed_today() -> None:
    drawn = subprocess.run(
        [sys.executable, ROOT / "tools" / "picture.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (drawn.returncode, drawn.stderr) == (0, "")
    assert f"({PICTURE.relative_to(ROOT).as_posix()})" in TEXT
    log = (ROOT / "tests/diagnose/captured/broken_engine-3.11.log").read_text(encoding="utf-8")
    error = next(line for line in log.splitlines() if line.startswith("RuntimeError"))
    assert error in shown()


def test_the_finding_is_what_check_prints(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "nothing").mkdir()
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    printed = run("coldfork check examples/broken_engine --site-packages nothing", tmp_path, cache)
    entry = printed.partition("\n\n")[0]
    assert " ".join(entry.split()) in shown()
    page = (ROOT / "docs" / "how-to" / "check.md").read_text(encoding="utf-8")
    assert f"```text\n{entry}\n```" in page


def test_it_begins_with_the_demonstration_and_stays_short() -> None:
    first, second, *_ = re.findall(r"^ {4}((?:\./dev|coldfork) .*)$", TEXT, re.MULTILINE)
    assert (first, second) == ("./dev coldfork demo", "./dev coldfork check PATH")
    assert len(TEXT.splitlines()) <= 90
