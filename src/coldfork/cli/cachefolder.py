"""Where the analysis cache lies; it is never needed, so trouble with it is no trouble."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path


def cache_folder(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path | None:
    """The folder for the cache, made if it is missing; None when there is nowhere to write."""
    folder = _named(environment, platform)
    if folder is None:
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


def _named(environment: Mapping[str, str], platform: str) -> Path | None:
    if chosen := environment.get("COLDFORK_CACHE_DIR"):
        return Path(chosen)
    parent = _users_caches(environment, platform)
    return parent / "coldfork" if parent else None


def _users_caches(environment: Mapping[str, str], platform: str) -> Path | None:
    if platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return Path(local) if local else None
    chosen = environment.get("XDG_CACHE_HOME", "")
    # The XDG specification tells programs to take a relative path for none at all.
    if Path(chosen).is_absolute():
        return Path(chosen)
    home = environment.get("HOME", "")
    if not Path(home).is_absolute():
        return None
    return Path(home, "Library", "Caches") if platform == "darwin" else Path(home, ".cache")
