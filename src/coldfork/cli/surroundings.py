"""The setup for watched imports, according to the settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coldfork.launch.probe.trial import ProbeSetup


def import_setup(settings: dict[str, Any]) -> ProbeSetup:
    """Return the setup for importing the modules of a check and running its programs."""
    from coldfork.launch.probe.probe import interpreter
    from coldfork.source.files.site_packages import search_path

    named = settings["python"]
    program = str(Path(named, "bin", "python")) if named and Path(named).is_dir() else named
    # The imports must find the same dependencies as the analysis of the sources.
    beside = [Path(folder) for folder in settings["site-packages"]]
    after = tuple(str(folder.absolute()) for folder in search_path(None, beside)) if beside else ()
    return surroundings(settings, interpreter(program, neighbours=(Path(".venv"),)), after=after)


def surroundings(
    settings: dict[str, Any],
    python: str,
    *,
    forked: bool = False,
    before: tuple[str, ...] = (),
    after: tuple[str, ...] = (),
) -> ProbeSetup:
    """Return the setup for watched imports; modules are also searched for in `before` and `after`."""
    from coldfork.launch.probe.trial import ProbeSetup

    base = dict(os.environ)
    if _is_bisecting(Path()):
        base["PYTHONDONTWRITEBYTECODE"] = "1"
    return ProbeSetup(
        python=python,
        virtual=settings["virtual"],
        timeout=settings["timeout"],
        forked=forked,
        before=before,
        after=after,
        base=base,
    )


def _is_bisecting(folder: Path) -> bool:
    """Return whether a folder is in a work tree where `git bisect` is running.

    Bisecting can check out several versions of a file within one second. Python takes a compiled file for
    current if second and size match, so it might run the file of an earlier commit.
    """
    for above in (folder.absolute(), *folder.absolute().parents):
        git = _git_folder(above / ".git")
        if git is not None:
            return (git / "BISECT_START").exists()
    return False


def _git_folder(git: Path) -> Path | None:
    """Return git's folder for a work tree: `.git` itself, or the folder that the file `.git` names."""
    if git.is_dir():
        return git
    try:
        named = git.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return git.parent / named.removeprefix("gitdir:").strip() if named.startswith("gitdir:") else None
