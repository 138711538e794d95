"""Values that may be one of several: how they are joined, taken apart and tested."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Sequence as Parts
from itertools import product
from math import prod

from coldfork.source.values.conditions import Condition, all_of, any_of
from coldfork.source.values.kinds import (
    UNKNOWN,
    Bound,
    ClassRef,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    Method,
    ModuleRef,
    Partial,
    Property,
    Sequence,
    Union,
    Unknown,
    Value,
)
from coldfork.source.values.rarer_kinds import Wrapped
from coldfork.source.values.texts import PartialText

MOST_ALTERNATIVES = 8
#: Objects that are always true, although only their names are known.
_PATHS = frozenset({"pathlib.Path()", "pathlib.PurePath()"})


def alternatives(value: Value) -> tuple[tuple[Value, Condition | None], ...]:
    """Return the alternatives of a value, each with its condition or None; other values have just one."""
    if type(value) is Union:
        return value.alternatives
    return ((value, None),)


def union(values: Iterable[Value], condition: Condition | None = None) -> Value:
    """Return a value that may be any of `values`; with `condition`, all but the first are off the nominal
    path.
    """
    found: dict[Value, Condition | None] = {}
    for index, value in enumerate(values):
        for alternative, inner in alternatives(value):
            needed = all_of(condition, inner) if index else inner
            known = found.setdefault(alternative, needed)
            if known is not None and known is not needed:
                found[alternative] = any_of(known, needed) if needed is not None else None
    if not found:
        return UNKNOWN
    if len(found) == 1:
        ((only, needed),) = found.items()
        return only if needed is None else Union(((only, needed),))
    if len(found) > MOST_ALTERNATIVES:
        return _shortened(found)
    return Union(tuple(found.items()))


def _shortened(found: dict[Value, Condition | None]) -> Value:
    """Return a value with fewer alternatives: unknown replaces some, preferably those off the
    nominal path.
    """
    nominal: list[tuple[Value, Condition | None]]
    nominal = [(value, None) for value, condition in found.items() if condition is None]
    others = [(value, condition) for value, condition in found.items() if condition is not None]
    if len(nominal) > MOST_ALTERNATIVES:
        nominal.sort(key=lambda option: isinstance(option[0], (Const, Unknown)))
        nominal = [*nominal[: MOST_ALTERNATIVES - 1], (UNKNOWN, None)]
    room = MOST_ALTERNATIVES - len(nominal)
    kept: list[tuple[Value, Condition | None]] = [*others[: max(0, room - 1)]]
    if others and len(kept) < len(others):
        kept.append((UNKNOWN, any_of(*[condition for _, condition in others[len(kept) :]])))
    return Union((*nominal, *kept))


def truth(value: Value) -> bool | None:
    """Return whether a value that is not a union is true; None if unknown."""
    kind = type(value)
    if isinstance(value, Const):
        return bool(value.value)
    if kind is Unknown:
        return True if value.truthy else None  # type: ignore[attr-defined]
    if kind is Sequence or kind is Mapping:
        if value.items:  # type: ignore[attr-defined]
            return None if value.doubtful else True  # type: ignore[attr-defined]
        return False if value.exact else None  # type: ignore[attr-defined]
    if kind is External:
        return True if value.is_module or value.name in _PATHS else None  # type: ignore[attr-defined]
    if kind in (Function, ClassRef, ModuleRef, Bound, Method, Partial, Property, Wrapped):
        return True
    if kind is PartialText:
        return True
    if kind is Instance:
        return None if value.open else True  # type: ignore[attr-defined]
    return None


def under(value: Value, condition: Condition | None) -> Value:
    """Return the value under one more condition, which takes it off the nominal path."""
    if condition is None:
        return value
    return Union(tuple([(single, all_of(condition, inner)) for single, inner in alternatives(value)]))


def needing(value: Value, *conditions: Condition | None) -> Value:
    """Return the value with these conditions added to alternatives that are already off the nominal path."""
    if type(value) is not Union or not any(conditions):
        return value
    needed = all_of(*conditions)
    return Union(tuple([
        (single, None if inner is None else all_of(needed, inner)) for single, inner in value.alternatives
    ]))  # fmt: skip


def joined(results: list[tuple[Value, Condition | None]]) -> Value:
    """Return one value for several results, each with a condition or None; the nominal ones come first."""
    results.sort(key=lambda result: result[1] is not None)
    return union([under(value, condition) for value, condition in results])


def each_text(parts: Parts[Value], make: Callable[[Parts[Value]], Value]) -> Value:
    """Return the results of `make` for all combinations of alternatives; if too many, the result for the
    whole parts.
    """
    ways = [alternatives(part) for part in parts]
    combinations = prod(map(len, ways))
    if combinations == 1 or combinations > MOST_ALTERNATIVES:
        return make(parts)
    found = []
    for chosen in product(*ways):
        condition = all_of(*[condition for _, condition in chosen])
        found.append((make([value for value, _ in chosen]), condition))
    return joined(found)
