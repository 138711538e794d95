"""The reference pages name every command, key and variable."""

from __future__ import annotations

from pathlib import Path

from coldfork.checking.configuration import EXCLUDE, KNOWLEDGE, PER_FILE_IGNORES
from coldfork.checking.settings import SETTINGS
from coldfork.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


def test_every_command_is_on_its_page() -> None:
    page = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    assert all(f"## `coldfork {name}`" in page for name in COMMANDS)
    assert "## `coldfork baseline prune`" in page


def test_every_key_and_variable_is_on_its_page() -> None:
    page = (REFERENCE / "config.md").read_text(encoding="utf-8")
    for setting in SETTINGS:
        assert f"| `{setting.name}` |" in page
        assert f"`{setting.variable}`" in page
    assert all(f"| `{key}` |" in page for key in (EXCLUDE, PER_FILE_IGNORES, KNOWLEDGE))
