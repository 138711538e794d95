"""A text that a call was given, which knows whether anybody has looked at it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from coldfork.source.values.kinds import Const, Value


class GivenText(Const):
    """A constant text; `read` once anything could depend on what it says."""

    __slots__ = ("_text", "read")

    def __init__(self, text: Const) -> None:
        self._text = text
        self.read = False

    @property
    def value(self) -> Any:
        """What it says."""
        self.look()
        return self.unwatched.value

    def look(self) -> None:
        """Note that something may depend on what it says, here and where the text came from."""
        text: Const = self
        while isinstance(text, GivenText):  # it may have been handed on ten thousand times
            text.read = True
            text = text._text

    @property
    def unwatched(self) -> Const:
        """The constant itself, whose reader nobody hears of."""
        text = self._text
        while isinstance(text, GivenText):
            text = text._text
        return text


def unwatched(value: Value) -> Value:
    """A value as calls are remembered by it."""
    return value.unwatched if type(value) is GivenText else value


def is_text(value: Value) -> bool:
    """True for a constant text, without reading it."""
    return isinstance(value, Const) and type(unwatched(value).value) is str  # type: ignore[attr-defined]


def look_at(values: Iterable[Value]) -> None:
    """Look at all texts among some values."""
    for value in values:
        if isinstance(value, GivenText):
            value.look()
