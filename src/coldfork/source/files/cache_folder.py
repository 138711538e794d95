"""Where the analysis cache lies; it is never needed, so trouble with it is no trouble."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from coldfork.model.folders import user_cache


def cache_folder(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path | None:
    """The folder for the cache, made if it is missing; None when there is nowhere to write."""
    named = user_cache(environment, platform)
    if named is None:
        return None
    folder = Path(named)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None
