"""Modules imported from beside a program: Python has its folder on the path, so they are checked too."""

from __future__ import annotations

import os
from collections.abc import Iterator

from coldfork.source.files.discovery import Found
from coldfork.source.program.package_environment import with_packages
from coldfork.source.program.program import Program


def take_in_neighbours(found: Found, program: Program) -> None:
    """Add to the checked files what the scripts that were named import from their own folders."""
    for script in found.scripts:
        folder = os.path.dirname(found.files[script])
        shown = os.path.dirname(found.display[script])
        pending = [script]
        while pending:
            for name in _imported(pending.pop(), program):
                located = program.finder.find(name)
                path = located.path if located is not None else None
                if path is None or name in found.files or not path.startswith(f"{folder}{os.sep}"):
                    continue
                found.files[name] = path
                if "." not in name and not located.is_package:  # type: ignore[union-attr]
                    found.display[name] = f"{shown}/{name}.py".lstrip("/")
                pending.append(name)


def _imported(name: str, program: Program) -> Iterator[str]:
    """Every module that the imports of a module may name, packages first."""
    module = program.module(name)
    for imported, level, names in module.outline.imports if module is not None else ():
        target = module.absolute(imported, level) if module is not None else ""
        if target:
            yield from with_packages(target)
            yield from (f"{target}.{member}" for member in names or () if member != "*")
