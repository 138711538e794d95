"""The folders for a user's files on every platform; this module does not access the file system."""

from __future__ import annotations

from collections.abc import Mapping


def user_cache(environment: Mapping[str, str], platform: str) -> str | None:
    """Return the folder for files that can be made again; None if the environment determines none."""
    return environment.get("COLDFORK_CACHE_DIR") or _in_users_folder(
        environment, platform, "XDG_CACHE_HOME", macos="Library/Caches", elsewhere=".cache"
    )


def user_state(environment: Mapping[str, str], platform: str) -> str | None:
    """Return the folder for recordings; None if the environment determines none."""
    return environment.get("COLDFORK_STATE_DIR") or _in_users_folder(
        environment, platform, "XDG_STATE_HOME", macos="Library/Application Support", elsewhere=".local/state"
    )


def _in_users_folder(
    environment: Mapping[str, str], platform: str, variable: str, *, macos: str, elsewhere: str
) -> str | None:
    if platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return f"{local}\\coldfork" if local else None
    parent = environment.get(variable, "")
    # The XDG specification tells programs to ignore a relative path.
    if parent.startswith("/"):
        return f"{parent.rstrip('/')}/coldfork"
    home = environment.get("HOME", "")
    if not home.startswith("/"):
        return None
    return f"{home.rstrip('/')}/{macos if platform == 'darwin' else elsewhere}/coldfork"
