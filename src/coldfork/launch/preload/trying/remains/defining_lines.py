"""The line of a module that makes what it holds under a name, or acquires it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast

    from coldfork.launch.preload.trying.remains.sites import Site

_TAKING = ("acquire", "__enter__")


def line_of(module: str, name: str) -> Site:
    """File and line: where it is acquired, else where it is bound, as far as the text of the module says."""
    path = getattr(sys.modules.get(module), "__file__", None)
    if not isinstance(path, str) or not path.endswith(".py"):
        return path if isinstance(path, str) else None, None
    import ast

    try:
        with open(path, "rb") as stream:
            tree = ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError):
        return path, None
    first = name.partition(".")[0]
    taken = [_line(node) for node in ast.walk(tree) if _takes(node, first)]
    bound = [_line(node) for node in ast.walk(tree) if _binds(node, first)]
    return path, next(iter(taken or bound), None)


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _takes(node: ast.AST, name: str) -> bool:
    import ast

    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _TAKING
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == name
    )


def _binds(node: ast.AST, name: str) -> bool:
    import ast

    if isinstance(node, ast.Assign):
        targets: list[ast.expr] = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        targets = [node.target]
    else:
        return False
    return any(isinstance(one, ast.Name) and one.id == name for target in targets for one in ast.walk(target))
