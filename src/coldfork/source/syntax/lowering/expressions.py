"""Lowers expressions and assignment targets."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from coldfork.source.syntax import nodes
from coldfork.source.syntax.lowering.context import Context
from coldfork.source.syntax.nodes import Node

_LARGEST_LITERAL = 400
_OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitOr: "or",
    ast.BitXor: "xor", ast.BitAnd: "and", ast.MatMult: "matmul",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
    ast.UAdd: "pos", ast.USub: "neg", ast.Invert: "invert",
}  # fmt: skip
#: The methods that Python tries in order to format a value.
_WRITING = ("__format__", "__str__")
UNKNOWN_CONSTANT: Node = (nodes.OTHER, ())


def lower_expression(context: Context, node: ast.expr) -> Node:
    """Lower one expression."""
    lower = _EXPRESSIONS.get(type(node))
    if lower is None:
        inner = [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
        return (nodes.OTHER, tuple([lower_expression(context, one) for one in inner]))
    return lower(context, node)


def lower_optional(context: Context, node: ast.expr | None) -> Node | None:
    """Lower an expression that may be missing."""
    return None if node is None else lower_expression(context, node)


def _constant(context: Context, node: ast.Constant) -> Node:
    value = node.value
    if isinstance(value, (str, bytes)) and len(value) > _LARGEST_LITERAL:
        return (nodes.CONST, value[:_LARGEST_LITERAL])
    return (nodes.CONST, value)


def _attribute(context: Context, node: ast.Attribute) -> Node:
    return (nodes.ATTR, lower_expression(context, node.value), node.attr, node.lineno + context.offset)


def _call(context: Context, node: ast.Call) -> Node:
    function = lower_expression(context, node.func)
    given = tuple([lower_expression(context, one) for one in node.args])
    named = tuple([(one.arg, lower_expression(context, one.value)) for one in node.keywords])
    last = (node.end_lineno or node.lineno) + context.offset
    return (nodes.CALL, function, given, named, node.lineno + context.offset, node.col_offset, last)


def _ifexp(context: Context, node: ast.IfExp) -> Node:
    test, body = lower_expression(context, node.test), lower_expression(context, node.body)
    orelse = lower_expression(context, node.orelse)
    return (nodes.IFEXP, test, body, orelse, node.lineno + context.offset, context.span(node.test))


def _bool(context: Context, node: ast.BoolOp) -> Node:
    values = tuple([lower_expression(context, value) for value in node.values])
    spans = tuple([context.span(value) for value in node.values])
    return (nodes.BOOL, isinstance(node.op, ast.And), values, node.lineno + context.offset, spans)


def _unary(context: Context, node: ast.UnaryOp) -> Node:
    if isinstance(node.op, ast.Not):
        return (nodes.NOT, lower_expression(context, node.operand))
    if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        if isinstance(value, (int, float, complex)):
            return (nodes.CONST, -value)
    return (nodes.UNARY, _OPERATORS[type(node.op)], lower_expression(context, node.operand))


def _compare(context: Context, node: ast.Compare) -> Node:
    operators = tuple([_OPERATORS[type(op)] for op in node.ops])
    others = tuple([lower_expression(context, value) for value in node.comparators])
    return (nodes.COMPARE, lower_expression(context, node.left), operators, others)


def _sequence(context: Context, node: ast.List | ast.Tuple | ast.Set) -> Node:
    if len(node.elts) > _LARGEST_LITERAL and all(isinstance(e, ast.Constant) for e in node.elts):
        return UNKNOWN_CONSTANT
    kind = "list" if isinstance(node, ast.List) else "tuple" if isinstance(node, ast.Tuple) else "set"
    return (nodes.SEQUENCE, kind, tuple([lower_expression(context, element) for element in node.elts]))


def _dict(context: Context, node: ast.Dict) -> Node:
    keys = tuple([lower_optional(context, key) for key in node.keys])
    return (nodes.DICT, keys, tuple([lower_expression(context, value) for value in node.values]))


def _subscript(context: Context, node: ast.Subscript) -> Node:
    owner, index = lower_expression(context, node.value), lower_expression(context, node.slice)
    return (nodes.INDEX, owner, index, node.lineno + context.offset)


def _slice(context: Context, node: ast.Slice) -> Node:
    parts = [part for part in (node.lower, node.upper, node.step) if part is not None]
    return (nodes.SLICE, tuple([lower_expression(context, part) for part in parts]))


def _lambda(context: Context, node: ast.Lambda) -> Node:
    outer, context.yields = context.yields, False
    line = node.lineno + context.offset
    body = ((nodes.RETURN, line, 0, lower_expression(context, node.body)),)
    parameters = lower_parameters(context, node.args)
    code = (parameters, body, context.yields, False, "<lambda>", line, None, ())
    context.yields = outer
    return (nodes.LAMBDA, code)


def _comprehension(
    context: Context, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
) -> Node:
    elements: tuple[Node, ...]
    if isinstance(node, ast.DictComp) and getattr(node, "value", None) is None:
        # `{**each for each in maps}`, allowed from Python 3.15 on
        kind, elements = "dict", ((nodes.STAR, lower_expression(context, node.key)),)
    elif isinstance(node, ast.DictComp):
        kind, elements = "dict", (lower_expression(context, node.key), lower_expression(context, node.value))
    else:
        kinds = {ast.ListComp: "list", ast.SetComp: "set", ast.GeneratorExp: "generator"}
        kind, elements = kinds[type(node)], (lower_expression(context, node.elt),)
    generators = tuple(
        (
            lower_target(context, generator.target),
            lower_expression(context, generator.iter),
            tuple((lower_expression(context, test), context.span(test)) for test in generator.ifs),
        )
        for generator in node.generators
    )
    return (nodes.COMPREHENSION, kind, elements, generators, node.lineno + context.offset)


def _binary(context: Context, node: ast.BinOp) -> Node:
    left, right = lower_expression(context, node.left), lower_expression(context, node.right)
    return (nodes.BINARY, _OPERATORS[type(node.op)], left, right, node.lineno + context.offset)


def _joined(context: Context, node: ast.JoinedStr) -> Node:
    parts: list[Node] = []
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append((nodes.CONST, value.value))
        elif isinstance(value, ast.FormattedValue):
            parts.append(_formatted(context, value))
        else:
            parts.append(lower_expression(context, value))
    return (nodes.JOINED, tuple(parts), _WRITING)


def _formatted(context: Context, node: ast.FormattedValue) -> Node:
    inner = lower_expression(context, node.value)
    if node.format_spec is None and node.conversion in (-1, ord("s")):
        return inner
    # The result is unknown; only the code that formatting runs matters.
    writing = ("__repr__",) if node.conversion in (ord("r"), ord("a")) else _WRITING
    written: Node = (nodes.JOINED, (inner,), writing)
    if node.format_spec is None:
        return (nodes.OTHER, (written,))
    return (nodes.OTHER, (written, lower_expression(context, node.format_spec)))


def _yield(context: Context, node: ast.Yield | ast.YieldFrom) -> Node:
    context.yields = True
    value = lower_optional(context, node.value)
    return (nodes.YIELD, value, isinstance(node, ast.YieldFrom), node.lineno + context.offset)


def _await(context: Context, node: ast.Await) -> Node:
    return (nodes.AWAIT, lower_expression(context, node.value), node.lineno + context.offset)


def lower_parameters(context: Context, node: ast.arguments) -> Node:
    """Return the names and default values of a parameter list."""
    return (
        tuple([a.arg for a in (*node.posonlyargs, *node.args)]),
        tuple([lower_expression(context, value) for value in node.defaults]),
        node.vararg.arg if node.vararg else None,
        tuple([a.arg for a in node.kwonlyargs]),
        tuple([None if value is None else lower_expression(context, value) for value in node.kw_defaults]),
        node.kwarg.arg if node.kwarg else None,
        len(node.posonlyargs),
    )


def lower_target(context: Context, node: ast.expr) -> Node:
    """Lower an assignment target."""
    if isinstance(node, ast.Name):
        return (nodes.TO_NAME, node.id)
    if isinstance(node, (ast.Tuple, ast.List)):
        return (nodes.TO_TUPLE, tuple([lower_target(context, element) for element in node.elts]))
    if isinstance(node, ast.Attribute):
        return (nodes.TO_ATTR, lower_expression(context, node.value), node.attr, node.lineno + context.offset)
    if isinstance(node, ast.Subscript):
        owner, index = lower_expression(context, node.value), lower_expression(context, node.slice)
        return (nodes.TO_INDEX, owner, index, node.lineno + context.offset)
    if isinstance(node, ast.Starred):
        return (nodes.TO_STAR, lower_target(context, node.value))
    return (nodes.TO_TUPLE, ())


def operator_name(node: ast.operator) -> str:
    """Return the name of a binary operator, as in `__add__`."""
    return _OPERATORS[type(node)]


_EXPRESSIONS: dict[type[ast.AST], Callable[[Context, Any], Node]] = {
    ast.Constant: _constant,
    ast.Name: lambda context, node: (nodes.NAME, node.id, node.lineno + context.offset),
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.IfExp: _ifexp,
    ast.BoolOp: _bool,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Lambda: _lambda,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.BinOp: _binary,
    ast.NamedExpr: lambda context, node: (
        nodes.WALRUS,
        node.target.id,
        lower_expression(context, node.value),
    ),
    ast.JoinedStr: _joined,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
    ast.Await: _await,
    ast.Starred: lambda context, node: (nodes.STAR, lower_expression(context, node.value)),
}
