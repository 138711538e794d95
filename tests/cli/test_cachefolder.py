"""Where the cache lies, and that trouble with it is no trouble."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from coldfork.cli.cachefolder import cache_folder


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
    ("platform", "variables", "folder"),
    [
        ("linux", {"XDG_CACHE_HOME": "xdg", "HOME": "home"}, "xdg/coldfork"),
        ("linux", {"HOME": "home"}, "home/.cache/coldfork"),
        ("linux", {"XDG_CACHE_HOME": "", "HOME": "home"}, "home/.cache/coldfork"),
        ("darwin", {"HOME": "home"}, "home/Library/Caches/coldfork"),
        ("darwin", {"XDG_CACHE_HOME": "xdg", "HOME": "home"}, "xdg/coldfork"),
        ("win32", {"LOCALAPPDATA": "local", "HOME": "home"}, "local/coldfork"),
    ],
)
def test_each_platform_has_its_place(
    tmp_path: Path, platform: str, variables: dict[str, str], folder: str
) -> None:
    environment = {name: str(tmp_path / value) if value else "" for name, value in variables.items()}
    assert cache_folder(environment, platform) == tmp_path / folder
    assert (tmp_path / folder).is_dir()


@pytest.mark.parametrize(
    ("platform", "environment"),
    [
        ("linux", {}),
        ("linux", {"HOME": ""}),
        ("linux", {"HOME": "relative"}),
        ("linux", {"XDG_CACHE_HOME": "relative", "HOME": ""}),
        ("win32", {"HOME": "anything"}),
    ],
)
def test_without_a_home_there_is_no_cache(platform: str, environment: dict[str, str]) -> None:
    assert cache_folder(environment, platform) is None


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
