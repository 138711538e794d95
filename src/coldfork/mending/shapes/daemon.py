"""A daemonic process that starts processes itself, shown as one that is no daemon."""

from __future__ import annotations

import ast

from coldfork.mending.draft import Draft
from coldfork.mending.project import Case
from coldfork.mending.text import CannotMend, Replacement

_SHOWN = "a process that is not a daemon has to be ended by the code that starts it"


def draft(case: Case, node: ast.expr | ast.stmt) -> Draft:
    """Show the process without its flag; if the function makes several daemons, all of them."""
    tree = case.tree
    functions = tree.functions(node)
    scope = functions[-1] if functions else tree.root
    edits = [Replacement(*tree.source.span(value), "False") for value in _flags(scope)]
    if not edits:
        raise CannotMend("the process is made a daemon in another function, or is a worker of a pool")
    return Draft(tuple(edits), shown=_SHOWN)


def _flags(scope: ast.AST) -> list[ast.Constant]:
    """Return each `True` that makes a process a daemon."""
    found: list[ast.expr] = []
    for each in ast.walk(scope):
        if isinstance(each, ast.Call) and ast.unparse(each.func).rpartition(".")[2] != "Thread":
            found += (keyword.value for keyword in each.keywords if keyword.arg == "daemon")
        elif isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Attribute):
            found += [each.value] if each.targets[0].attr == "daemon" else []
    return [one for one in found if isinstance(one, ast.Constant) and one.value is True]
