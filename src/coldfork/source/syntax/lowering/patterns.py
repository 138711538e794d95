"""Lower the patterns of `match`."""

from __future__ import annotations

import ast

from coldfork.source.syntax import nodes
from coldfork.source.syntax.lowering.context import Context
from coldfork.source.syntax.lowering.expressions import lower_expression
from coldfork.source.syntax.nodes import Node


def lower_pattern(context: Context, pattern: ast.pattern) -> Node:
    """Lower one pattern."""
    match pattern:
        case ast.MatchValue(value):
            return (nodes.CASE_VALUE, lower_expression(context, value))
        case ast.MatchSingleton(constant):
            return (nodes.CASE_CONSTANT, constant)
        case ast.MatchSequence(patterns):
            return (nodes.CASE_SEQUENCE, _each(context, patterns))
        case ast.MatchMapping(keys, patterns, rest):
            lowered = tuple([lower_expression(context, key) for key in keys])
            return (nodes.CASE_MAPPING, lowered, _each(context, patterns), rest)
        case ast.MatchClass(cls, patterns, names, named):
            own, others = _each(context, patterns), _each(context, named)
            return (nodes.CASE_CLASS, lower_expression(context, cls), own, tuple(names), others)
        case ast.MatchStar(name):
            return (nodes.CASE_STAR, name)
        case ast.MatchAs(inner, name):
            return (nodes.CASE_AS, None if inner is None else lower_pattern(context, inner), name)
        case ast.MatchOr(patterns):
            return (nodes.CASE_OR, _each(context, patterns))
    raise TypeError(pattern)


def _each(context: Context, patterns: list[ast.pattern]) -> tuple[Node, ...]:
    return tuple([lower_pattern(context, one) for one in patterns])
