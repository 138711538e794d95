"""Lowered expressions as people write them, so far that one recognises them."""

from __future__ import annotations

from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node

_LONGEST = 60
_ELSE = "..."
_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "lshift": "<<", "rshift": ">>", "or": "|", "xor": "^", "and": "&", "matmul": "@",
}  # fmt: skip


def spelled(node: Node) -> str:
    """An expression in source text; what is inside of it, and of no interest, is left out."""
    text = _spelled(node)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - len(_ELSE)]}{_ELSE}"


def _spelled(node: Node) -> str:
    match node:
        case (nodes.CONST, value):
            return repr(value)
        case (nodes.NAME, str(name), _):
            return name
        case (nodes.ATTR, owner, str(name), _):
            return f"{_spelled(owner)}.{name}"
        case (nodes.CALL, function, positional, keywords, *_):
            given = [_spelled(one) for one in positional]
            given += [f"{name}={_spelled(one)}" if name else f"**{_spelled(one)}" for name, one in keywords]
            return f"{_spelled(function)}({', '.join(given)})"
        case (nodes.INDEX, owner, index, _):
            return f"{_spelled(owner)}[{_spelled(index)}]"
        case (nodes.NOT, operand):
            return f"not {_spelled(operand)}"
        case (nodes.COMPARE, left, operators, comparators):
            pairs = zip(operators, comparators, strict=True)
            return " ".join([_spelled(left), *(f"{sign} {_spelled(right)}" for sign, right in pairs)])
        case (nodes.BINARY, str(operator), left, right, _):
            return f"{_spelled(left)} {_SIGNS[operator]} {_spelled(right)}"
        case (nodes.BOOL, is_and, values, *_):
            return f" {'and' if is_and else 'or'} ".join(map(_spelled, values))
    return _ELSE
