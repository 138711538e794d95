"""Judges, by its names and side effects, whether an expression may be evaluated later."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from coldfork.mending.project import Case
from coldfork.mending.site import Tree, bindings, bound, loads
from coldfork.mending.text import CannotMend

#: Builtins without side effects.
_PLAIN = frozenset(
    {"abs", "all", "any", "bool", "dict", "divmod", "float", "frozenset", "getattr", "hasattr", "int"}
    | {"isinstance", "issubclass", "len", "list", "max", "min", "range", "repr", "round", "set", "sorted"}
    | {"str", "sum", "tuple", "zip"}
)
BY_NAME = ("eval", "exec", "globals", "locals", "vars")
"""Functions through which code can read names that do not appear in it."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_ONCE_ONLY = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def require_movable(node: ast.AST) -> None:
    """Refuse an expression that cannot be moved into a function."""
    if any(isinstance(each, _ONCE_ONLY) for each in ast.walk(node)):
        raise CannotMend("it binds a name or waits")


def doubts(case: Case, node: ast.AST) -> list[str]:
    """Return reasons why evaluating an expression later may give another result, the most serious first."""
    tree, found = case.tree, []
    for name in loads(node):
        count = bindings(tree, name.id)
        if count > 1:
            found.append(f"`{name.id}` is bound more than once")
        elif count and not _first_bound(tree, name.id):
            found.append(f"`{name.id}` is bound by a function")
        elif count and name.lineno < _first_bound(tree, name.id):
            found.append(f"`{name.id}` is bound below it")
        elif not count and not hasattr(builtins, name.id) and tree.uses(name.id):
            found.append(f"`{name.id}` is bound nowhere in the file")
    found += (
        f"`{ast.unparse(call.func)}` may have side effects"
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and not _only_answers(case, call)
    )
    return list(dict.fromkeys(found))


def read_first(statement: ast.stmt) -> list[str]:
    """Return the names that a statement reads on or above the line on which it first binds them."""
    bound_at: dict[str, int] = {}
    for each in ast.walk(statement):
        if isinstance(each, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Import, ast.ImportFrom)):
            for name in bound(ast.Module([each], [])):
                bound_at[name] = min(each.lineno, bound_at.get(name, each.lineno))
    return [name.id for name in loads(statement) if name.lineno <= bound_at.get(name.id, 0)]


def always_binds(body: list[ast.stmt], name: str) -> bool:
    """Return whether these statements bind a name by whichever way they end, or raise an error."""
    return any(_binds(each, name) for each in body)


def _binds(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, ast.If):
        return always_binds(statement.body, name) and always_binds(statement.orelse, name)
    if isinstance(statement, ast.Try):
        ways = [[*statement.body, *statement.orelse], *(each.body for each in statement.handlers)]
        return always_binds(statement.finalbody, name) or all(always_binds(way, name) for way in ways)
    return isinstance(statement, ast.Raise) or name in bound(ast.Module([statement], []))


def read_unbound(root: ast.Module) -> str | None:
    """Return a name that an import of the module reads before anything binds it, so that the import fails."""
    there: set[str] = set()
    for statement in root.body:
        own = bound(ast.Module([statement], []))
        is_gone = isinstance(statement, ast.Delete)
        for name in _read_now(statement):
            if name in there or hasattr(builtins, name):
                continue
            if name not in own or is_gone or name in read_first(statement):
                return None if there & {"*"} or _has_globals(root) else name
        there = there - own if is_gone else there | own
    return None


def _has_globals(root: ast.Module) -> bool:
    return any(isinstance(each, ast.Global) for each in ast.walk(root))


def _read_now(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement reads or deletes at once, but not in classes and comprehensions."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Store) and not node.id.startswith("__"):
                yield node.id
        elif isinstance(node, ast.AnnAssign):  # its annotation may be a text
            waiting += [node.target, *([node.value] if node.value is not None else [])]
        elif not isinstance(node, (*_FUNCTIONS, *_COMPREHENSIONS)):
            waiting += ast.iter_child_nodes(node)


def _first_bound(tree: Tree, name: str) -> int:
    """Return the line of the first module-level statement that binds a name."""
    own = (each.lineno for each in tree.root.body if name in bound(ast.Module([each], [])))
    return next(own, 0)


def _only_answers(case: Case, call: ast.Call) -> bool:
    """Return whether a call has no effect: a device query, a method of its result, or a harmless builtin."""
    function = call.func
    if isinstance(function, ast.Name) and not bindings(case.tree, function.id):
        return function.id in _PLAIN
    symbol = _symbol(case.tree, function)
    if symbol is not None:
        return case.project.is_question(symbol)
    while isinstance(function, (ast.Attribute, ast.Subscript)):
        function = function.value
    # This is a method of another call's result; that call is examined separately.
    return isinstance(function, (ast.Call, ast.Constant, ast.JoinedStr))


def _symbol(tree: Tree, node: ast.expr) -> str | None:
    """Return the full dotted name of an expression, if its first part was imported."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    for statement in tree.root.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.asname == node.id:
                    return ".".join((alias.name, *parts))
                if alias.asname is None and alias.name.partition(".")[0] == node.id:
                    return ".".join((node.id, *parts))
        elif isinstance(statement, ast.ImportFrom) and not statement.level:
            for alias in statement.names:
                if (alias.asname or alias.name) == node.id:
                    return ".".join((statement.module or "", alias.name, *parts))
    return ".".join((node.id, *parts))
