"""Values in words, for whoever wants to know what the code was taken to compute."""

from __future__ import annotations

from collections.abc import Callable, Iterable

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
from coldfork.source.values.texts import PartialText
from coldfork.source.values.wrapped import Wrapped

_MOST_ITEMS = 4
_DEEPEST = 2
_LONGEST = 80

#: Puts a condition into words.
Wording = Callable[[tuple[Condition, ...]], str | None]


def in_words(value: Value, words_of: Wording, depth: int = 0) -> str:
    """A value in words; what may be one of several, with the condition of each."""
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
