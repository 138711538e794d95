"""The page about probe, read as a user reads it: its files are written, its commands run, its output seen."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "probing.md"
SOURCE = Path(__file__).parents[2] / "src"
_FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler to build the virtual driver"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the page."""
    made = tmp_path_factory.mktemp("page")
    (made / "engine").mkdir()
    (made / "engine" / "__init__.py").touch()
    for _, title, text in _FENCE.findall(PAGE.read_text(encoding="utf-8")):
        if title:
            (made / title).write_text(text, encoding="utf-8")
    return made


def sessions() -> list[tuple[str, str]]:
    """The commands of the page, and what stands below each."""
    blocks = (text for kind, _, text in _FENCE.findall(PAGE.read_text(encoding="utf-8")) if kind == "console")
    return [(head.removeprefix("$ "), rest) for head, _, rest in (block.partition("\n") for block in blocks)]


def settled(text: str) -> str:
    """Without counts and times, and without the call that only Python 3.12 and newer name."""
    text = re.sub(r"\d+ modules? in [\d.]+ m?s", "N modules in S s", text)
    text = re.sub(r"in [\d.]+ m?s$", "in S s", text, flags=re.MULTILINE)
    return re.sub(r"^   2\. cuInit +", "      ", text, flags=re.MULTILINE)


def run(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("COLDFORK_")}
    program, *arguments = shlex.split(command)
    assert program == "coldfork"
    return subprocess.run(
        [sys.executable, "-m", "coldfork", *arguments],
        cwd=folder,
        env=variables | {"PYTHONPATH": str(SOURCE), "COLDFORK_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_the_page_has_what_is_tested_here() -> None:
    assert len(sessions()) == 4


@needs_compiler
@pytest.mark.parametrize(("command", "shown"), sessions(), ids=[command for command, _ in sessions()])
def test_a_command_prints_what_the_page_shows(folder: Path, command: str, shown: str) -> None:
    done = run(folder, command)
    assert settled(done.stdout) == settled(shown)
    assert done.stderr == ""


@needs_compiler
def test_the_thread_of_the_page_is_named_or_suspected(folder: Path) -> None:
    done = run(folder, "coldfork probe --virtual h100 engine.background")
    assert done.returncode == 1
    assert "woken: importing engine.background wakes cuda" in done.stdout
    assert "warmer" in done.stdout
    assert "engine/background.py:5" not in done.stdout or "on the thread warmer" in done.stdout
