"""A default argument, replaced by None and computed at the top of the body.

A call that passes None then gets the default. No call does if the parameter's annotation excludes None;
without an annotation, the fix is unsafe.
"""

from __future__ import annotations

import ast

from coldfork.mending.annotations import are_text
from coldfork.mending.draft import Draft, above_body, inline, is_docstring, step
from coldfork.mending.expressions import doubts, require_movable
from coldfork.mending.project import Case
from coldfork.mending.site import Function, bound, refuse_hidden
from coldfork.mending.text import CannotMend, Replacement

#: Decorators that pass the arguments of a call on unchanged.
_HARMLESS = frozenset({"abstractmethod", "abc.abstractmethod", "classmethod", "override", "staticmethod"})


def draft(case: Case, node: ast.expr | ast.stmt) -> Draft:
    """Compute the default if a call omits the argument."""
    function, parameter, default = _parameter(case, node)
    require_movable(default)
    tree, source = case.tree, case.tree.source
    scope = tree.scope(function)
    refuse_hidden(default, function, frozenset() if scope is tree.root else bound(scope))
    if function.body[0].lineno == function.lineno or _header_end(function) == function.body[0].lineno:
        raise CannotMend(f"the body of {function.name} is on the same line as its `def`")
    start, indent = above_body(tree, function)
    edits = [Replacement(*source.span(default), "None")]
    if _is_computed_already(function, parameter, default):
        return Draft(tuple(edits), tuple(doubts(case, default)))
    line = source.newline
    computed = (
        f"{indent}if {parameter.arg} is None:{line}"
        f"{indent}{step(source, function)}{parameter.arg} = {inline(source, default)}{line}"
    )
    edits.append(Replacement(start, start, computed))
    against = doubts(case, default) + _doubts(function, parameter)
    if parameter.annotation is not None and _takes_none(case, parameter.annotation):
        _, end = source.span(parameter.annotation)
        edits.append(Replacement(end, end, " | None"))
    return Draft(tuple(edits), tuple(against))


def _parameter(case: Case, node: ast.expr | ast.stmt) -> tuple[Function, ast.arg, ast.expr]:
    """Return the function and the parameter whose default contains a node, and the default."""
    path = [node, *case.tree.above(node)]
    for at, each in enumerate(path):
        if isinstance(each, ast.Lambda):
            raise CannotMend("a lambda has no body to compute it in")
        if not isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        arguments = each.args
        positional = [*arguments.posonlyargs, *arguments.args]
        late = positional[len(positional) - len(arguments.defaults) :]
        pairs = [*zip(late, arguments.defaults, strict=True)]
        named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        pairs += ((parameter, default) for parameter, default in named if default is not None)
        for parameter, default in pairs:
            if default in path[:at]:
                return each, parameter, default
    raise CannotMend("the default argument is no longer in the file")


def _is_computed_already(function: Function, parameter: ast.arg, default: ast.expr) -> bool:
    """Return whether the body already begins by replacing None with the default."""
    first = next(each for each in function.body if not is_docstring(each))
    name = parameter.arg
    written = ast.parse(f"if {name} is None:\n    {name} = {ast.unparse(default)}").body[0]
    return ast.dump(first) == ast.dump(written)


def _header_end(function: Function) -> int:
    """Return the last line of the header that has a parameter or the return annotation."""
    nodes: list[ast.AST] = [*ast.walk(function.args), *([function.returns] if function.returns else [])]
    return max([function.lineno, *(getattr(node, "end_lineno", 0) or 0 for node in nodes)])


def _doubts(function: Function, parameter: ast.arg) -> list[str]:
    found = []
    if parameter.annotation is None:
        found.append(f"a call may pass None to `{parameter.arg}`")
    elif _may_be_none(parameter.annotation):
        found.append(f"`{parameter.arg}` may be None for a reason")
    if isinstance(function, ast.AsyncFunctionDef) or any(
        isinstance(each, (ast.Yield, ast.YieldFrom)) for each in ast.walk(function)
    ):
        found.append(f"the body of {function.name} does not run when it is called")
    for decorator in function.decorator_list:
        name = ast.unparse(decorator)
        if name not in _HARMLESS:
            found.append(f"`@{name.partition('(')[0]}` may read the default")
    return found


def _may_be_none(annotation: ast.expr) -> bool:
    for each in ast.walk(annotation):
        if isinstance(each, ast.Constant) and (each.value is None or isinstance(each.value, str)):
            return True
        name = each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "")
        if name in ("Any", "Optional", "object"):
            return True
    return False


def _takes_none(case: Case, annotation: ast.expr) -> bool:
    """Return whether ` None` can be added to an annotation: it is not evaluated, and does not allow
    None yet.
    """
    return are_text(case.tree) and not _may_be_none(annotation) and not isinstance(annotation, ast.Constant)
