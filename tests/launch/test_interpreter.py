"""Which interpreter a name means."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from coldfork.launch.plumbing.interpreter import find_interpreter
from coldfork.model.errors import UsageError


def test_our_own_where_none_is_named() -> None:
    assert find_interpreter(None) == sys.executable


def test_by_path_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link stays a link: by it a virtual environment is found."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    assert find_interpreter("bin/python") == str(tmp_path / "bin" / "python")


def test_as_the_shell_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_interpreter("mine") == str(tmp_path / "mine")


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("nowhere/python", "there is no Python interpreter 'nowhere/python'"),
        ("./locked", "cannot start the Python interpreter './locked': Permission denied"),
        ("", "name a Python interpreter: this process does not know its own"),
    ],
)
def test_none_that_could_be_started(
    named: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "locked").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        find_interpreter(named)
    assert str(caught.value) == message
