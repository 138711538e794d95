"""Expressions and values in words, for users who want to see the values that the analysis found."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import (
    Bound,
    ClassRef,
    Const,
    External,
    Function,
    Instance,
    Lazy,
    Mapping,
    Method,
    ModuleRef,
    Partial,
    Sequence,
    Union,
    Unknown,
    Value,
)
from coldfork.source.values.rarer_kinds import Wrapped
from coldfork.source.values.texts import PartialText

_MOST_ITEMS = 4
_DEEPEST = 2
_LONGEST = 80
_LONGEST_TEXT = 60
_ELSE = "..."
_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "lshift": "<<", "rshift": ">>", "or": "|", "xor": "^", "and": "&", "matmul": "@",
}  # fmt: skip

#: Returns a condition in words.
Wording = Callable[[tuple[Condition, ...]], str | None]


def in_words(value: Value, words_of: Wording, depth: int = 0) -> str:
    """Return a value in words; for a union, each alternative with its condition."""
    if isinstance(value, Union):
        return " or ".join(_alternative(*one, words_of, depth) for one in value.alternatives)
    if isinstance(value, (Sequence, Mapping)):
        return _container(value, words_of, depth)
    return _single(value, words_of, depth)


def _alternative(value: Value, condition: Condition | None, words_of: Wording, depth: int) -> str:
    said = in_words(value, words_of, depth)
    return said if condition is None else f"{said} (when {words_of((condition,)) or 'something else holds'})"


def _container(value: Sequence | Mapping, words_of: Wording, depth: int) -> str:
    kind = value.kind if isinstance(value, Sequence) else "dict"
    more = "" if value.exact else ", and perhaps more"
    if depth >= _DEEPEST:
        return f"a {kind} of {len(value.items)}{more}"
    if isinstance(value, Sequence):
        items = [in_words(item, words_of, depth + 1) for item in value.items[:_MOST_ITEMS]]
    else:
        held = list(value.items.items())[:_MOST_ITEMS]
        items = [
            f"{in_words(key, words_of, depth + 1)}: {in_words(item, words_of, depth + 1)}"
            for key, item in held
        ]
    return f"a {kind} of {_listed(items, len(value.items))}{more}" if items else f"an empty {kind}{more}"


def _listed(items: Iterable[str], count: int) -> str:
    said = list(items)
    left = count - len(said)
    return f"[{', '.join(said)}{f', {left} more' if left else ''}]"


def _single(value: Value, words_of: Wording, depth: int) -> str:
    match value:
        case Const():
            text = repr(value.value)
            return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
        case Unknown():
            return "unknown, and true" if value.truthy else "unknown"
        case External():
            if value.name.endswith("()"):
                return f"what {value.name} returns"
            return f"the module {value.name}" if value.is_module else value.name
        case ModuleRef():
            return f"the module {value.name}"
        case Function():
            return f"the function {value.module.name}.{value.qualified}"
        case ClassRef():
            return f"the class {value.module.name}.{value.qualified}"
        case Instance():
            return f"a {value.cls.qualified}{' or of a subclass' if value.open else ''}"
        case Bound():
            return (
                f"{in_words(value.function, words_of, depth)} of {in_words(value.receiver, words_of, depth)}"
            )
        case Method():
            return f"the method {value.name} of {in_words(value.receiver, words_of, depth)}"
        case PartialText():
            return f"a text that begins with {value.start!r} and ends with {value.end!r}"
        case Partial() | Wrapped():
            maker = value.maker if isinstance(value, Wrapped) else "functools.partial"
            return f"what {maker} makes of {in_words(value.function, words_of, depth)}"
        case Lazy():
            return f"a {value.kind} that has not run"
    return "something without a name"


def spelled(node: Node) -> str:
    """Return an expression as source text, without its less important inner parts."""
    text = _spelled(node)
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - len(_ELSE)]}{_ELSE}"


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
