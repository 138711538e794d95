"""Texts of which only the end is known, such as the path of a file beside the code."""

from __future__ import annotations

from coldfork.source.values.kinds import Const, External, Unknown, Value


class Ending(Value):
    """A text or a path that ends so, whatever stands before."""

    __slots__ = ("end",)

    def __init__(self, end: str) -> None:
        self.end = end

    def __eq__(self, other: object) -> bool:
        return type(other) is Ending and self.end == other.end

    def __hash__(self) -> int:
        return hash(self.end)


def end_of(value: Value) -> str:
    """How a value ends if it is a text; empty where nobody knows."""
    if isinstance(value, Ending):
        return value.end
    return value.value if isinstance(value, Const) and isinstance(value.value, str) else ""


def ending(parts: tuple[Value, ...]) -> Ending | None:
    """What parts come to that are joined to one text, if its end is known."""
    end = end_of(parts[-1]) if parts else ""
    return Ending(end) if end else None


def appended(left: Value, right: Value) -> Ending | None:
    """What adding to a text comes to of which nothing is known, or only the end."""
    return ending((right,)) if isinstance(left, (Ending, External, Unknown)) else None
