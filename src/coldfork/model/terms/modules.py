"""The checked modules, and the imports between them that matter."""

from __future__ import annotations

from typing import NamedTuple

from coldfork.model.terms.grades import Audience


class CheckedModule(NamedTuple):
    """One module of the checked code."""

    name: str
    path: str
    audience: Audience
    imported: bool
    """True if another checked module imports it."""
    file: str = ""
    """The absolute path of the module's file."""


class Import(NamedTuple):
    """An import through which a module becomes warm: importing `importer` runs the warm `target`."""

    importer: str
    path: str
    line: int
    target: str
    sure: bool
    """True if the import depends on no condition."""
    tried: bool = False
    """True inside a `try` that continues if a library is missing."""
