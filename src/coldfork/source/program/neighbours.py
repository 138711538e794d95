"""Modules imported from beside a program: Python has its folder on the path, so they are checked too."""

from __future__ import annotations

import os

from coldfork.source.files.discovery import Found
from coldfork.source.program.package_environment import may_import
from coldfork.source.program.program import Program


def take_in_neighbours(found: Found, program: Program) -> None:
    """Add to the checked files what the scripts that were named import from their own folders."""
    for script in found.scripts:
        folder = os.path.dirname(found.files[script])
        shown = os.path.dirname(found.display[script])
        pending = [script]
        while pending:
            module = program.module(pending.pop())
            for name in may_import(module) if module is not None else ():
                located = program.finder.find(name)
                if located is None or located.path is None or name in found.files:
                    continue
                if not located.path.startswith(f"{folder}{os.sep}"):
                    continue
                found.files[name] = located.path
                if "." not in name and not located.is_package:
                    found.display[name] = f"{shown}/{name}.py".lstrip("/")
                pending.append(name)
