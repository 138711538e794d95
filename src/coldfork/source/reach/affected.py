"""Which of the checked modules a change of some files can affect, by what was imported and looked at."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from coldfork.source.program.package_environment import with_packages
from coldfork.source.program.program import HIERARCHY, Program
from coldfork.source.reach.propagation import targets
from coldfork.source.reach.results import Results


def affected(
    results: Results, folders: Sequence[str], files: dict[str, str], changed: Sequence[str]
) -> set[str]:
    """The modules among `files` that changed, or whose import runs or looks at one that did.

    A file that is gone counts for those that look for it still.
    """
    program = results.program
    touched = _changed_names(program, folders, files, changed)
    mask = 0
    for name in touched:
        mask |= program.bits.get(name) or program.inside_missing.get(name, 0)
    importers: dict[str, list[str]] = {}
    pending = [name for name in files if name in touched]
    for name, result in results.by_name.items():
        # Python runs the packages of a module before it.
        if results.known[name].depends & mask or not touched.isdisjoint(with_packages(name)):
            pending.append(name)
        for site_edge in result.edges:
            for target in targets(site_edge.edge.target, name):
                importers.setdefault(target, []).append(name)
    reached: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending += importers.get(name, ())
    return {name for name in reached if name in files}


def _changed_names(
    program: Program, folders: Sequence[str], files: dict[str, str], changed: Sequence[str]
) -> set[str]:
    """The modules, there or not, that the changed files are or were."""
    paths = set(changed)
    stems = {_stem(path) for path in paths}
    roots = [os.path.realpath(folder) for folder in folders]
    names = {name for name, path in files.items() if not paths.isdisjoint(_places(path))}
    for name in (*program.bits, *program.inside_missing):
        below = name.replace(".", os.sep)
        if name != HIERARCHY and any(f"{root}{os.sep}{below}" in stems for root in roots):
            names.add(name)
    return names


def _places(path: str) -> Iterator[str]:
    """Where a file is, and where the file is that it may be a link to."""
    yield os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    yield os.path.realpath(path)


def _stem(path: str) -> str:
    """A module's path without what tells source from compiled code, a package's without its `__init__`."""
    folder, name = os.path.split(path)
    stem = name.partition(".")[0]
    return folder if stem == "__init__" else os.path.join(folder, stem)
