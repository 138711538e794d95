"""The page about probe, read as a user reads it: its files are written, its commands run, its output seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from coldfork.cli.demos.walk import machine
from tests.pages import ROOT, Block, blocks, run, settled, write

pytestmark = pytest.mark.once

PAGE = blocks((ROOT / "docs" / "explanation" / "probing.md").read_text(encoding="utf-8"))
SESSIONS = [block for block in PAGE if block.command]

needs_compiler = pytest.mark.skipif(not machine().driver, reason="no C compiler to build the virtual driver")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the page."""
    made = tmp_path_factory.mktemp("page")
    (made / "engine").mkdir()
    (made / "engine" / "__init__.py").touch()
    for block in PAGE:
        if block.file:
            write(block, made)
    return made


def test_the_page_has_what_is_tested_here() -> None:
    assert len(SESSIONS) == 4


@needs_compiler
@pytest.mark.parametrize("session", SESSIONS, ids=[block.command for block in SESSIONS])
def test_a_command_prints_what_the_page_shows(session: Block, folder: Path, cache: Path) -> None:
    assert settled(run(session.command, folder, cache)) == settled(session.text)


@needs_compiler
def test_the_thread_of_the_page_is_named_or_suspected(folder: Path, cache: Path) -> None:
    printed = run("coldfork probe --virtual h100 engine.background", folder, cache)
    assert "woken: importing engine.background wakes cuda" in printed
    assert "warmer" in printed
    assert "engine/background.py:5" not in printed or "on the thread warmer" in printed
