"""Finds a function in its file by what its process knows of it, and sees that it is the same one still."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

from coldfork.source.syntax.lowering.blocks import lower_function
from coldfork.source.syntax.lowering.context import Context
from coldfork.source.syntax.lowering.expressions import lower_expression
from coldfork.source.syntax.nodes import NO_PARAMETERS, Code, code_of

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class NotFound(Exception):
    """Why a function cannot be followed."""


class _Named(NamedTuple):
    name: str
    node: Definition


def definition_of(tree: ast.Module, source: bytes, qualified: str, line: int, code: str) -> Definition:
    """The function of this qualified name whose code begins at a line."""
    found = [
        one.node for one in _functions(tree, "") if one.name == qualified and _first_line(one.node) == line
    ]
    if len(found) != 1:
        raise NotFound(f"{qualified} is not the only function of its name at line {line}, or is none")
    compiled = compile(source, "<body>", "exec", dont_inherit=True)
    if not any(one.co_code.hex() == code for one in _codes(compiled, qualified, line)):
        raise NotFound(f"the source of {qualified} is not what the process has loaded")
    return found[0]


def lowered(node: Definition) -> Code:
    """The function as it is followed: whoever calls it gives all its parameters, and nobody knows what."""
    context = Context()
    if isinstance(node, ast.Lambda):
        _, raw = lower_expression(context, node)
        code = code_of(raw)
    else:
        code = code_of(lower_function(context, node))
    given = code.parameters
    more = [name for name in (given.star, given.double_star) if name is not None]
    return code._replace(
        parameters=NO_PARAMETERS._replace(positional=(*given.positional, *given.keyword_only, *more))
    )


def _functions(node: ast.AST, within: str) -> Iterator[_Named]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield _Named(f"{within}{name}", child)
                yield from _functions(child, f"{within}{name}.<locals>.")
            case ast.Lambda():
                yield _Named(f"{within}<lambda>", child)
                yield from _functions(child, f"{within}<lambda>.<locals>.")
            case ast.ClassDef(name=name):
                yield from _functions(child, f"{within}{name}.")
            case _:
                yield from _functions(child, within)


def _first_line(node: Definition) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(one.lineno for one in decorators)])


def _codes(code: CodeType, qualified: str, line: int) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            if one.co_qualname == qualified and one.co_firstlineno == line:
                yield one
            yield from _codes(one, qualified, line)
