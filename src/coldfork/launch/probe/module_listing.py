"""List the modules of a package without importing any of it.

The text of this file is passed to the interpreter whose modules are wanted (`python -c`), which need not have
coldfork installed. It prints one JSON object: the modules' names, or null if there is no such package.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import all_suffixes
from pathlib import Path

SKIPPED = frozenset({"__main__"})
"""A package's `__main__` is a program, which is not meant to be imported."""


def modules(package: str) -> list[str] | None:
    """Return the package and all modules below it, sorted; None if there is no such module."""
    folders = _folders(package)
    if folders is None:
        return None
    found = {package}
    _walk(package, folders, found, set())
    return sorted(found)


def _folders(name: str) -> list[str] | None:
    """Return the folders of a package's modules; none for a plain module; None if it was not found."""
    folders: list[str] | None = None
    parts = name.split(".")
    for depth in range(len(parts)):
        if folders is not None and not folders:
            return None
        folders = _ask(".".join(parts[: depth + 1]), folders)
        if folders is None:
            return None
    return folders


def _ask(name: str, folders: list[str] | None) -> list[str] | None:
    """Return a module's folders, as an import's finders give them, without importing its parents."""
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        try:
            spec = find(name, folders) if find is not None else None
            if spec is not None:
                return list(spec.submodule_search_locations or ())
        except KeyError:
            # For a folder without `__init__` inside a package, the finder needs the parent in `sys.modules`.
            below = [Path(folder, name.rpartition(".")[2]) for folder in folders or ()]
            return [str(folder) for folder in below if folder.is_dir()]
    return None


def _walk(package: str, folders: Sequence[str], found: set[str], walked: set[str]) -> None:
    for folder in folders:
        real = os.path.realpath(folder)
        if real in walked:  # a link to a folder that has been walked already
            continue
        for name, below in _entries(folder):
            module = f"{package}.{name}"
            if below is None:
                found.add(module)
            elif _holds_modules(below, {real}):
                found.add(module)
                _walk(module, [below], found, walked | {real})


def _entries(folder: str) -> Iterator[tuple[str, str | None]]:
    """Yield the importable names in a folder; those of subfolders come with their paths."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:  # a zip file, or an unreadable folder
        yield from _others(folder)
        return
    for entry in entries:
        name = entry.name
        if entry.is_dir():
            if name.isidentifier() and name != "__pycache__":
                yield name, entry.path
            continue
        suffix = max((suffix for suffix in all_suffixes() if name.endswith(suffix)), key=len, default=None)
        stem = name[: -len(suffix)] if suffix else ""
        if stem.isidentifier() and stem != "__init__" and stem not in SKIPPED:
            yield stem, None


def _others(folder: str) -> Iterator[tuple[str, None]]:
    import pkgutil

    for found in pkgutil.iter_modules([folder]):
        if found.name not in SKIPPED:
            yield found.name, None


def _holds_modules(folder: str, above: set[str]) -> bool:
    """Return whether a folder is a package or contains modules at any depth."""
    real = os.path.realpath(folder)
    if real in above:
        return False
    try:
        if any(entry.name.startswith("__init__.") for entry in os.scandir(folder)):
            return True
    except OSError:
        return False
    return any(below is None or _holds_modules(below, above | {real}) for _, below in _entries(folder))


def main() -> None:
    """Print the modules of the package named by the last argument."""
    import json

    sys.stdout.write(json.dumps({"modules": modules(sys.argv[-1])}) + "\n")


if __name__ == "__main__":
    main()
