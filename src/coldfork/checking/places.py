"""Where the files of a report lie."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable
from functools import cache
from pathlib import Path

Locate = Callable[[str], str]


def locator(paths: Iterable[Path], overlays: Container[str] = ()) -> Locate:
    """A function that turns a report's path into one that opens; unknown ones stay as they are."""
    roots = tuple(dict.fromkeys(root for path in paths for root in _roots(path)))

    @cache
    def locate(path: str) -> str:
        for root in roots:
            candidate = root / path
            if candidate.exists() or str(candidate.absolute()) in overlays:
                return candidate.as_posix()
        return path

    return locate


def _roots(path: Path) -> Iterable[Path]:
    """The folders that a path's report paths may be relative to, the likeliest first."""
    top = path if path.is_dir() else path.parent
    while (top / "__init__.py").is_file() and top.absolute() != top.absolute().parent:
        # `check .` inside a package: the path's own names are used up, and the root lies one folder up.
        top = top.parent if top.name not in ("", os.pardir) else top / os.pardir
    yield top
    if top == path:
        yield top / "src"
