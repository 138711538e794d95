"""Whether git is bisecting the files one stands in."""

from __future__ import annotations

from pathlib import Path


def is_bisecting(folder: Path) -> bool:
    """True inside a work tree in which `git bisect` is under way.

    It checks out several versions of a file within a second. Python takes a compiled file for current when
    the second and the size fit, so that one written for one commit would be run for the next.
    """
    for above in (folder.absolute(), *folder.absolute().parents):
        git = _git_folder(above / ".git")
        if git is not None:
            return (git / "BISECT_START").exists()
    return False


def _git_folder(git: Path) -> Path | None:
    """Where git keeps the state of a work tree: `.git` itself, or the folder that the file `.git` names."""
    if git.is_dir():
        return git
    try:
        named = git.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return git.parent / named.removeprefix("gitdir:").strip() if named.startswith("gitdir:") else None
