"""Texts that calls are given and never look at: with any other text they come to the same.

Every module has a logger made for it under its own name, and every operator is registered under a name of its
own. What such a call comes to is remembered for all names at once.
"""

from __future__ import annotations

from coldfork.source.evaluation.frame import CallResult
from coldfork.source.values.given_text import GivenText, is_text
from coldfork.source.values.kinds import (
    ClassRef,
    Const,
    External,
    Function,
    Instance,
    ModuleRef,
    Unknown,
    Value,
)
from coldfork.source.values.unions import alternatives

#: Function, positional arguments and the rest of what a call is remembered by.
Key = tuple[object, tuple[Value, ...], object, object, object]

#: Stands for any text.
_ANY = Unknown()
_NOTHING: frozenset[int] = frozenset()


class UnreadTexts:
    """For each function, the places of texts that its first call was given and did not look at."""

    def __init__(self) -> None:
        self._places: dict[object, frozenset[int]] = {}

    def watched(self, key: Key, positional: tuple[Value, ...]) -> tuple[Value, ...]:
        """Arguments for a call that will tell which texts it looked at; these if it looks at all."""
        if self._places.get(key[0]) is _NOTHING or not any(map(is_text, positional)):
            return positional
        return tuple([GivenText(value) if is_text(value) else value for value in positional])  # type: ignore[arg-type]

    def for_any(self, key: Key) -> Key | None:
        """What stands for this call and all that differ from it in texts that nobody looks at."""
        places = self._places.get(key[0])
        if not places:
            return None
        function, positional, *rest = key
        if not all(place < len(positional) and is_text(positional[place]) for place in places):
            return None
        blank = tuple([_ANY if place in places else value for place, value in enumerate(positional)])
        keywords, environment, first_yield_only = rest
        return function, blank, keywords, environment, first_yield_only

    def learn(self, key: Key, given: tuple[Value, ...], result: CallResult, unchanged: bool) -> Key | None:
        """Take note of what a call looked at; what stands for all that came to the same, if others do."""
        function = key[0]
        if self._places.get(function) is _NOTHING or not any(type(value) is GivenText for value in given):
            return None
        unread = frozenset(
            [n for n, value in enumerate(given) if type(value) is GivenText and not value.read]
        )
        if not unchanged or not _holds_no_text(result):
            unread = _NOTHING
        places = self._places.setdefault(function, unread or _NOTHING)
        return self.for_any(key) if places <= unread else None


def _holds_no_text(result: CallResult) -> bool:
    """Whether what a call returns is sure not to hold on to what the call was given."""
    return result.made_up or all(_is_plain(single) for single, _ in alternatives(result.value))


def _is_plain(value: Value) -> bool:
    if isinstance(value, Function):
        return value.env is None
    return type(value) is Const or isinstance(value, (ClassRef, External, ModuleRef, Unknown))


def anew(result: CallResult) -> CallResult:
    """What a call comes to that returns an object of its own: another object."""
    value = result.value
    if not result.made_up or not isinstance(value, Instance):
        return result
    return result._replace(value=Instance(value.cls, value.open))
