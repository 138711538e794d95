"""A decorator that wakes a device, changed so that it is applied at the function's first call.

This is possible for functions that are only called. If the decorator makes something else, such as a kernel
that is indexed with its grid, the whole definition is deferred.
"""

from __future__ import annotations

import ast

from coldfork.mending.draft import Draft, with_function, with_import
from coldfork.mending.expressions import doubts
from coldfork.mending.project import Case
from coldfork.mending.site import Function
from coldfork.mending.text import CannotMend, Replacement

HELPER = "_on_first_call"
_WRITTEN = '''\
def _on_first_call(decorator):
    """Decorate a function when it is first called."""

    def decorate(function):
        decorated = functools.cache(lambda: decorator(function))

        @functools.wraps(function)
        def call(*args, **kwargs):
            return decorated()(*args, **kwargs)

        return call

    return decorate


'''


def is_only_called(case: Case, node: ast.expr | ast.stmt) -> bool:
    """Return whether the function is only called, as far as the files show; methods always count as such."""
    tree = case.tree
    function, _ = _decorated(case, node)
    if not isinstance(tree.parents[function], ast.Module):
        return True
    uses = [use.node for use in tree.uses(function.name) if isinstance(use.node.ctx, ast.Load)]
    for each in uses:
        parent = tree.parents[each]
        if not isinstance(parent, ast.Call) or parent.func is not each:
            return False
    return bool(uses)


def draft(case: Case, node: ast.expr | ast.stmt) -> Draft:
    """Apply the decorator at the function's first call."""
    tree, source = case.tree, case.tree.source
    function, decorator = _decorated(case, node)
    top = tree.top(function)
    helper = with_function(tree, HELPER, _WRITTEN, top)
    name = ast.unparse(decorator).partition("(")[0]
    text = f"{HELPER}(lambda function: {source.of(decorator)}(function))"
    against = [f"`{function.name}` becomes a plain function, without the attributes that `@{name}` gives it"]
    edits = (Replacement(*source.span(decorator), text), *helper, *with_import(tree, "functools"))
    return Draft(edits, (*against, *doubts(case, decorator)), helper[0].text if helper else "")


def _decorated(case: Case, node: ast.expr | ast.stmt) -> tuple[Function, ast.expr]:
    below: ast.AST = node
    for each in (node, *case.tree.above(node)):
        if below in getattr(each, "decorator_list", ()):
            if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
                assert isinstance(below, ast.expr)
                return each, below
            break
        below = each
    raise CannotMend("it does not decorate a function")
