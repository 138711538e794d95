"""Where the cache lies, and that trouble with it is no trouble."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from coldfork.source.files import packs
from coldfork.source.files.packs import cache_folder, tool_digest


def test_the_variable_comes_first(tmp_path: Path) -> None:
    chosen = tmp_path / "mine"
    environment = {
        "COLDFORK_CACHE_DIR": str(chosen),
        "XDG_CACHE_HOME": str(tmp_path / "xdg"),
        "HOME": str(tmp_path / "home"),
    }
    for platform in ("linux", "darwin", "win32"):
        assert cache_folder(environment, platform) == chosen
    assert chosen.is_dir()


@pytest.mark.parametrize(
    ("platform", "folder"),
    [("linux", ".cache/coldfork"), ("darwin", "Library/Caches/coldfork"), ("win32", None)],
)
def test_the_platforms_folder_is_made(tmp_path: Path, platform: str, folder: str | None) -> None:
    place = None if folder is None else tmp_path / folder
    assert cache_folder({"HOME": str(tmp_path)}, platform) == place
    assert place is None or place.is_dir()


def test_a_file_in_the_way_means_no_cache(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert cache_folder({"COLDFORK_CACHE_DIR": str(tmp_path / "file")}) is None
    assert cache_folder({"COLDFORK_CACHE_DIR": str(tmp_path / "file" / "below")}) is None


@pytest.mark.skipif(
    sys.platform == "win32" or (hasattr(os, "geteuid") and os.geteuid() == 0),
    reason="root may write anywhere",
)
def test_a_folder_without_permission_means_no_cache(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        assert cache_folder({"COLDFORK_CACHE_DIR": str(tmp_path / "below")}) is None
        assert cache_folder({"COLDFORK_CACHE_DIR": str(tmp_path)}) is None
    finally:
        tmp_path.chmod(0o700)


def test_code_that_was_changed_keeps_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "files"
    room.mkdir()
    monkeypatch.setattr(packs, "__file__", str(room / "packs.py"))
    (room / "packs.py").write_text("", encoding="utf-8")
    before = tool_digest()
    (room / "notes.txt").write_text("no code", encoding="utf-8")
    assert tool_digest() == before
    (room / "packs.py").write_text("changed", encoding="utf-8")
    assert tool_digest() != before
