"""Each platform has its folders for what can be made again and for what was recorded."""

from __future__ import annotations

import pytest

from coldfork.model.folders import user_cache, user_state

HOME = {"HOME": "/me"}


@pytest.mark.parametrize(
    ("platform", "environment", "folder"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x", **HOME}, "/x/coldfork"),
        ("linux", {"XDG_CACHE_HOME": "/x/", **HOME}, "/x/coldfork"),
        ("linux", {"XDG_CACHE_HOME": "x", **HOME}, "/me/.cache/coldfork"),
        ("linux", {"XDG_CACHE_HOME": "", **HOME}, "/me/.cache/coldfork"),
        ("linux", {"HOME": "/"}, "/.cache/coldfork"),
        ("linux", {"HOME": "me"}, None),
        ("linux", {"XDG_CACHE_HOME": "x"}, None),
        ("linux", {}, None),
        ("darwin", HOME, "/me/Library/Caches/coldfork"),
        ("darwin", {"XDG_CACHE_HOME": "/x", **HOME}, "/x/coldfork"),
        ("win32", {"LOCALAPPDATA": r"C:\me\Local", **HOME}, r"C:\me\Local\coldfork"),
        ("win32", HOME, None),
    ],
)
def test_the_cache(platform: str, environment: dict[str, str], folder: str | None) -> None:
    assert user_cache(environment, platform) == folder


@pytest.mark.parametrize(
    ("platform", "environment", "folder"),
    [
        ("linux", {"XDG_STATE_HOME": "/x", **HOME}, "/x/coldfork"),
        ("linux", {"XDG_STATE_HOME": "x", **HOME}, "/me/.local/state/coldfork"),
        ("linux", {"HOME": "me"}, None),
        ("darwin", HOME, "/me/Library/Application Support/coldfork"),
        ("darwin", {"XDG_STATE_HOME": "/x", **HOME}, "/x/coldfork"),
        ("win32", {"LOCALAPPDATA": r"C:\me\Local", **HOME}, r"C:\me\Local\coldfork"),
        ("win32", {"XDG_STATE_HOME": "/x", **HOME}, None),
    ],
)
def test_the_state(platform: str, environment: dict[str, str], folder: str | None) -> None:
    assert user_state(environment, platform) == folder


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_the_variables_of_coldfork_come_first(platform: str) -> None:
    environment = {
        "COLDFORK_CACHE_DIR": "/cache",
        "COLDFORK_STATE_DIR": "/state",
        "XDG_CACHE_HOME": "/x",
        "XDG_STATE_HOME": "/x",
        "LOCALAPPDATA": r"C:\me\Local",
        **HOME,
    }
    assert (user_cache(environment, platform), user_state(environment, platform)) == ("/cache", "/state")
