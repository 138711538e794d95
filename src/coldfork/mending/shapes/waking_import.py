"""An import of a package that wakes a device: moved into the functions that use what it binds."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from coldfork.mending.draft import Draft, above_body, inline, step
from coldfork.mending.expressions import BY_NAME, doubts
from coldfork.mending.project import Case
from coldfork.mending.site import Function, Tree, Use, bindings, refuse_hidden
from coldfork.mending.text import BESIDE, CannotMend, Replacement


def draft(case: Case, node: ast.expr | ast.stmt) -> Draft:
    """Import it where it is used, and no more at the top."""
    tree, source = case.tree, case.tree.source
    statement = tree.statement(node)
    if not isinstance(statement, (ast.Import, ast.ImportFrom)):
        raise CannotMend("it is no import statement")
    condition = _condition(tree, statement)
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
    text = source.of(statement) + source.comment_behind(statement)
    gone = condition if condition is not None and condition.body == [statement] else statement
    edits = [_without(case, gone)]
    for function in _outermost(uses):
        start, indent = above_body(tree, function)
        if condition is not None:
            # Where it does not hold, the function goes without, as it did.
            refuse_hidden(condition.test, function)
            head = f"{indent}if {inline(source, condition.test)}:{source.newline}"
            indent = head + indent + step(source, function)
        edits.append(Replacement(start, start, f"{indent}{text}{source.newline}"))
    against = _doubts(tree, uses) + (doubts(case, condition.test) if condition is not None else [])
    return Draft(tuple(edits), tuple(against))


def _condition(tree: Tree, statement: ast.stmt) -> ast.If | None:
    """The `if` of the module around an import; it has no other branch, and nothing else is around it."""
    parent = tree.parents[statement]
    if isinstance(parent, ast.Module):
        return None
    if not isinstance(parent, ast.If) or parent.orelse or not isinstance(tree.parents[parent], ast.Module):
        raise CannotMend("the import stands in a block of the module")
    if any(isinstance(each, ast.NamedExpr) for each in ast.walk(parent.test)):
        raise CannotMend("the condition of the import binds a name")
    return parent


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
    for node in root.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            for each in ast.walk(node):
                if isinstance(each, ast.Constant) and each.value in names:
                    raise CannotMend(f"line {each.lineno} hands `{each.value}` on in `__all__`")


def _outermost(uses: Iterable[Use]) -> list[Function]:
    found: dict[int, Function] = {}
    for use in uses:
        function = use.functions[0]
        assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        found.setdefault(function.lineno, function)
    return list(found.values())


def _without(case: Case, statement: ast.stmt) -> Replacement:
    """The statement's lines taken out, and the empty lines below it that would be too many then."""
    source = case.tree.source
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    source.comment_behind(statement)
    if source.text[source.line_start(first) : source.span(statement)[0]].strip():
        raise CannotMend(BESIDE)
    above, below = first - 1, last + 1
    while above > 0 and below <= source.length and not (source.line(above) + source.line(below)).strip():
        above, below = above - 1, below + 1
    return Replacement(source.line_start(first), source.line_start(below), "")


def _doubts(tree: Tree, uses: list[Use]) -> list[str]:
    for use in uses:
        function = use.functions[0]
        assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for each in ast.walk(function):
            if isinstance(each, (ast.Global, ast.Nonlocal)) and use.node.id in each.names:
                return [f"{function.name} says that `{use.node.id}` is global"]
    return [f"`{each}` may read it by its name" for each in BY_NAME if tree.uses(each)]
