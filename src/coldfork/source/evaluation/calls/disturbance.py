"""What code that cannot be followed may do to the objects that it is given: anything."""

from __future__ import annotations

from coldfork.source.values.kinds import (
    UNKNOWN,
    External,
    Instance,
    Keywords,
    Mapping,
    Method,
    Sequence,
    Unknown,
    Value,
)

_LEAVING_ALONE = ("builtins.", "torch.")
_READING = frozenset({"get", "keys", "values", "items", "index", "count", "copy", "append", "setdefault"})
"""Methods of containers that change nothing, and those whose changes are followed."""


def disturb_arguments(callee: Value, positional: tuple[Value, ...], keywords: Keywords) -> None:
    """Forget what the arguments of a call hold, unless the call is known to leave them as they are."""
    if isinstance(callee, Method):
        if callee.name not in _READING:
            if isinstance(callee.receiver, (Mapping, Sequence)):
                forget(callee.receiver)
            _forget_all(positional, keywords)
    elif isinstance(callee, Unknown) or (
        isinstance(callee, External) and not callee.name.startswith(_LEAVING_ALONE)
    ):
        _forget_all(positional, keywords)


def _forget_all(positional: tuple[Value, ...], keywords: Keywords) -> None:
    for value in (*positional, *keywords.values()):
        forget(value)


def forget(value: Value) -> None:
    """Nobody knows any more what an object or a container holds."""
    if isinstance(value, Instance):
        value.attributes.update(dict.fromkeys(value.attributes, UNKNOWN))
    elif isinstance(value, Mapping):
        value.items.update(dict.fromkeys(value.items, UNKNOWN))
        value.exact, value.doubtful = False, True
    elif isinstance(value, Sequence):
        value.items = (UNKNOWN,)
        value.exact, value.doubtful = False, True
