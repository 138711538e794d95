"""Lower the patterns of `match`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from coldfork.source.syntax import nodes as ir
from coldfork.source.syntax.nodes import Node


def lower_pattern(pattern: ast.pattern, expression: Callable[[ast.expr], Node]) -> Node:
    """Lower one pattern, whose expressions `expression` lowers."""

    def each(patterns: list[ast.pattern]) -> tuple[Node, ...]:
        return tuple([lower_pattern(one, expression) for one in patterns])

    match pattern:
        case ast.MatchValue(value):
            return (ir.CASE_VALUE, expression(value))
        case ast.MatchSingleton(constant):
            return (ir.CASE_CONSTANT, constant)
        case ast.MatchSequence(patterns):
            return (ir.CASE_SEQUENCE, each(patterns))
        case ast.MatchMapping(keys, patterns, rest):
            return (ir.CASE_MAPPING, tuple([expression(key) for key in keys]), each(patterns), rest)
        case ast.MatchClass(cls, patterns, names, named):
            return (ir.CASE_CLASS, expression(cls), each(patterns), tuple(names), each(named))
        case ast.MatchStar(name):
            return (ir.CASE_STAR, name)
        case ast.MatchAs(inner, name):
            return (ir.CASE_AS, None if inner is None else lower_pattern(inner, expression), name)
        case ast.MatchOr(patterns):
            return (ir.CASE_OR, each(patterns))
    raise TypeError(pattern)
