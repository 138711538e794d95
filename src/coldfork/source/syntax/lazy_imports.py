"""Which imports of a module are lazy (PEP 810): those that say so, and those that a list may name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from coldfork.source.files.reading import CannotRead

#: The first Python with lazy imports.
FIRST = (3, 15)
#: The variable with which a module names imports that are to be lazy; older Pythons leave it alone.
LISTED = "__lazy_modules__"
_LISTED = LISTED.encode()
_STATEMENT = re.compile(
    rb"lazy(?:[ \t]|\\\n)+(?:import(?:[ \t]|\\\n)+[^\s,;#]+[ \t]*(?:\n|[,;#\\]|as\b)"
    rb"|from\b[^\n]*\bimport\b|from[ \t]*\\)"
)

EAGER, UNSURE, DECLARED = 0, 1, 2
_Import = ast.Import | ast.ImportFrom


def may_be_spelt(source: bytes) -> bool:
    """True when the source may hold a `lazy import`: the words may also stand in a text."""
    at = source.find(b"lazy")
    while at >= 0:
        before = source[source.rfind(b"\n", 0, at) + 1 : at].rstrip(b" \t")
        if (not before or before.endswith((b":", b";"))) and _STATEMENT.match(source, at):
            return True
        at = source.find(b"lazy", at + 4)
    return False


def laziness(node: _Import) -> int:
    """Whether an import statement is lazy, as far as its file says it."""
    return int(getattr(node, "is_lazy", EAGER))


def may_be_listed(source: bytes, target_version: tuple[int, int]) -> bool:
    """True when the module may list imports that are to be lazy, for a Python that asks."""
    return target_version >= FIRST and _LISTED in source


def declare(tree: ast.Module, source: bytes, target_version: tuple[int, int]) -> frozenset[str]:
    """Mark the imports of a module that are lazy; the names that they bind, and the submodules they name.

    A `lazy import` where Python allows none is an error of the whole file, as it is in Python.
    """
    if may_be_spelt(source):
        for node in ast.walk(tree):
            if isinstance(node, _Import) and laziness(node):
                node.is_lazy = DECLARED  # type: ignore[union-attr]
                _refuse_version(node, target_version)
        _refuse_places(tree.body, "")
    if target_version < FIRST:
        return frozenset()
    if may_be_listed(source, target_version):
        for node in _eligible(tree.body):
            starred = any(alias.name == "*" for alias in node.names)
            if not laziness(node) and not starred and getattr(node, "module", None) != "__future__":
                node.is_lazy = UNSURE  # type: ignore[union-attr]
    found: set[str] = set()
    for node in _eligible(tree.body):
        if laziness(node):
            found.update(_bound(node))
    return frozenset(found)


def _refuse_version(node: _Import, target_version: tuple[int, int]) -> None:
    if target_version < FIRST:
        asked = ".".join(map(str, target_version))
        raise CannotRead(
            f"uses `lazy import` of Python 3.15, which Python {asked}, the target version, cannot read; "
            f"Pythons before it ignore a list of the modules in {LISTED}, which does the same",
            node.lineno,
            node.col_offset,
        )


def _refuse_places(statements: Sequence[ast.AST], inside: str) -> None:
    """Refuse a `lazy import` in functions, classes and `try` statements, and of stars."""
    pending = [(statement, inside) for statement in statements]
    while pending:
        node, inside = pending.pop()
        if isinstance(node, _Import):
            reason = _misplaced(node, inside) if laziness(node) else ""
            if reason:
                raise CannotRead(f"does not parse: {reason}", node.lineno, node.col_offset)
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            inside = "functions"
        elif isinstance(node, ast.ClassDef):
            inside = inside or "classes"
        elif isinstance(node, (ast.Try, ast.TryStar)):
            inside = inside or "try/except blocks"
        if isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)):
            pending.extend((child, inside) for child in ast.iter_child_nodes(node))


def _misplaced(node: _Import, inside: str) -> str:
    if inside:
        return f"lazy import not allowed inside {inside}"
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        return "lazy from __future__ import is not allowed"
    return "lazy from ... import * is not allowed" if any(a.name == "*" for a in node.names) else ""


def _eligible(statements: Sequence[ast.stmt]) -> Iterator[_Import]:
    """The import statements of a module's own level that may be lazy: none that a `try` watches."""
    for node in statements:
        if isinstance(node, _Import):
            yield node
        elif isinstance(node, (ast.Try, ast.TryStar)):
            yield from _eligible(node.finalbody)
        elif isinstance(node, (ast.If, ast.For, ast.While, ast.AsyncFor)):
            yield from _eligible(node.body)
            yield from _eligible(node.orelse)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            yield from _eligible(node.body)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                yield from _eligible(case.body)


def _bound(node: _Import) -> Iterator[str]:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name
        else:
            yield alias.asname or alias.name.partition(".")[0]
            if "." in alias.name:
                yield alias.name
