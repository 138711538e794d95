"""No module imports one that imports it, be it through others, for a type or inside a function.

import-linter watches neighbours in a folder, but not whether a package and a module of its own import
each other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

SOURCES = Path(__file__).parents[2] / "src"


def modules() -> dict[str, Path]:
    """Every module of the package by its name; the top package, which exports lazily, is left out."""
    found = {}
    for path in SOURCES.rglob("*.py"):
        name = ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
        found[name] = path
    del found["coldfork"]
    return found


def imported(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of ours that a file names in an import statement, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                yield from (name for name in (inside if inside in known else node.module,) if name in known)


@pytest.mark.must_hold
def test_no_module_imports_itself_through_others() -> None:
    known = modules()
    graph = {name: set(imported(path, known)) - {name} for name, path in known.items()}
    # Raises CycleError, which names the modules of a circle.
    TopologicalSorter(graph).prepare()
