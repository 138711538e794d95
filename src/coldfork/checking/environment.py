"""Settles which environment's packages a check reads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from coldfork.checking.request import CheckRequest
from coldfork.model.observations import EnvironmentRead, Origin
from coldfork.source.files.own_environment import serves
from coldfork.source.files.site_packages import environment

Environment = tuple[tuple[Path, ...], EnvironmentRead]
"""The folders to look for dependencies in, and what is to be said of them."""


class Environments:
    """The environments of a session: which one serves the same paths is looked for once."""

    def __init__(self) -> None:
        self._known: dict[object, Environment] = {}

    def __call__(self, request: CheckRequest, paths: Sequence[Path]) -> Environment:
        """The environment that was found for such a request before, else the one that is there now."""
        active = os.environ.get("VIRTUAL_ENV")
        key = request.search, request.python, request.site_packages, tuple(paths), active, Path.cwd()
        if key not in self._known:
            self._known[key] = environment_of(request, paths)
        return self._known[key]


def environment_of(request: CheckRequest, paths: Sequence[Path]) -> Environment:
    """The folders to look for dependencies in, and what is to be said of them.

    Where nobody named an environment and coldfork's own is all there is, its packages are read only if it is
    the checked code's environment too: else it would be about packages that its users need not have.
    """
    if request.search is not None:
        return request.search, EnvironmentRead(None, Origin.NAMED, bool(request.search))
    python = Path(request.python) if request.python else None
    found = environment(python, [Path(folder) for folder in request.site_packages])
    read = found.origin is not Origin.OWN or serves(found.folders, paths)
    folder = os.path.relpath(found.folders[0]) if found.folders else None
    shown = None if folder is None else folder if not folder.startswith(os.pardir) else str(found.folders[0])
    return found.folders if read else (), EnvironmentRead(shown, found.origin, read)
