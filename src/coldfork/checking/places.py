"""Converts the paths in a report to those that are shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coldfork.model.terms.modules import CheckedModule

Locate = Callable[[str], str]
_MOST_UP = 3
"""A relative path that goes up at most this many folders is easier to read than an absolute one."""


def locator(modules: Iterable[CheckedModule], paths: Iterable[Path], overlays: Container[str] = ()) -> Locate:
    """Return a function from a report's path to one that can be opened from here; unknown paths stay."""
    files = {module.path: module.file for module in modules if module.file}
    roots = tuple(dict.fromkeys(root for path in paths for root in _roots(path)))
    here = str(Path.cwd())

    @cache
    def locate(path: str) -> str:
        file = files.get(path)
        if file is not None:
            return shown(file, here)
        for root in roots:
            candidate = root / path
            if candidate.exists() or str(candidate.absolute()) in overlays:
                return candidate.as_posix()
        return path

    return locate


def shown(file: str, here: str) -> str:
    """Return an absolute path as it is shown: relative to the current folder, unless it is far outside."""
    try:
        relative = os.path.relpath(file, here)
    except ValueError:  # the file is on another drive
        return file.replace(os.sep, "/")
    up = Path(relative).parts.count(os.pardir)
    return (file if up > _MOST_UP else relative).replace(os.sep, "/")


def _roots(path: Path) -> Iterable[Path]:
    """Yield the folders to which report paths may be relative, the likeliest first."""
    top = path if path.is_dir() else path.parent
    while (top / "__init__.py").is_file() and top.absolute() != top.absolute().parent:
        # After `check .` inside a package, the path has no names left to remove, so the root is one folder
        # up.
        top = top.parent if top.name not in ("", os.pardir) else top / os.pardir
    yield top
    if top == path:
        yield top / "src"
