"""An import of a package that wakes a device: moved into the functions that use what it binds."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from coldfork.mending.draft import Draft, above_body
from coldfork.mending.project import Case
from coldfork.mending.site import Function, Use, bindings
from coldfork.mending.text import CannotMend, Replacement


def draft(case: Case, node: ast.expr | ast.stmt) -> Draft:
    """Import it where it is used, and no more at the top."""
    tree, source = case.tree, case.tree.source
    statement = next(each for each in (node, *tree.above(node)) if isinstance(each, ast.stmt))
    if not isinstance(statement, (ast.Import, ast.ImportFrom)):
        raise CannotMend("it is no import statement")
    if not isinstance(tree.parents[statement], ast.Module):
        raise CannotMend("the import stands in a block of the module")
    names = _names(statement)
    uses: list[Use] = []
    for name in names:
        if bindings(tree, name) > 1:
            raise CannotMend(f"`{name}` is bound more than once")
        reading = [use for use in tree.uses(name) if isinstance(use.node.ctx, ast.Load)]
        _refuse_eager(name, reading)
        for reader in case.project.readers(case.finding.module, name):
            raise CannotMend(f"{reader.path}:{reader.line} takes `{name}` from here")
        uses += reading
    if not uses:
        raise CannotMend("nothing in the module uses it: it may be imported for what it does")
    _refuse_all(tree.root, names)
    text = source.of(statement)
    edits = [_without(case, statement)]
    for function in _outermost(uses):
        start, indent = above_body(tree, function)
        edits.append(Replacement(start, start, f"{indent}{text}{source.newline}"))
    return Draft(tuple(edits), tuple(_doubts(uses)))


def _names(statement: ast.Import | ast.ImportFrom) -> list[str]:
    if any(alias.name == "*" for alias in statement.names):
        raise CannotMend("it imports by a star")
    if isinstance(statement, ast.Import) and len(statement.names) > 1:
        raise CannotMend("the statement imports several modules")
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        raise CannotMend("it is no import")
    for alias in statement.names:
        if isinstance(statement, ast.Import) and alias.asname is None and "." in alias.name:
            raise CannotMend(f"it binds only the first name of `{alias.name}`")
    return [alias.asname or alias.name for alias in statement.names]


def _refuse_eager(name: str, uses: Iterable[Use]) -> None:
    for use in uses:
        if not use.deferred:
            raise CannotMend(f"line {use.node.lineno} uses `{name}` when the module is imported")
        if not isinstance(use.functions[0], (ast.FunctionDef, ast.AsyncFunctionDef)):
            raise CannotMend(f"line {use.node.lineno} uses `{name}` in a lambda")


def _refuse_all(root: ast.Module, names: list[str]) -> None:
    for node in ast.walk(root):
        if isinstance(node, ast.Constant) and node.value in names:
            raise CannotMend(f"line {node.lineno} names `{node.value}` in a text")


def _outermost(uses: Iterable[Use]) -> list[Function]:
    found: dict[int, Function] = {}
    for use in uses:
        function = use.functions[0]
        assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        found.setdefault(function.lineno, function)
    return list(found.values())


def _without(case: Case, statement: ast.stmt) -> Replacement:
    source = case.tree.source
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    rest = source.line(last)[source.offset(last, statement.end_col_offset or 0) - source.line_start(last) :]
    if source.indent(first) or rest.strip():
        raise CannotMend("something else stands in its line")
    return Replacement(source.line_start(first), source.line_start(last + 1), "")


def _doubts(uses: list[Use]) -> list[str]:
    for use in uses:
        function = use.functions[0]
        assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for each in ast.walk(function):
            if isinstance(each, (ast.Global, ast.Nonlocal)) and use.node.id in each.names:
                return [f"{function.name} says that `{use.node.id}` is global"]
    return []
