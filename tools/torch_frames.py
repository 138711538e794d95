"""What a call in progress keeps: its names, how far the device woke, and the ways it can end."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from torch_values import UNKNOWN, ClassValue, Value


class RaisedError(Exception):
    """Every way through the code ends in an error."""


class ReturnedSignal(Exception):
    """A `return` was met."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


@dataclass
class Reached:
    """How far the device woke: on every way, on some way, and through which unknown C functions."""

    certain: int = 0
    possible: int = 0
    opaque: frozenset[str] = frozenset()

    def wake(self, level: int) -> None:
        """Note an effect on the current way."""
        self.certain = max(self.certain, level)
        self.possible = max(self.possible, level)

    def glimpse(self, other: Reached) -> None:
        """Note what may happen besides."""
        self.possible = max(self.possible, other.possible)
        self.opaque |= other.opaque


@dataclass
class Frame:
    """One call in progress."""

    module: str
    scope: dict[str, Value]
    owner: ClassValue | None = None
    bound: Value | None = None
    forks: int = 0


@dataclass(eq=False)
class Leave(ast.stmt):
    """Stands in the list of statements for the end of a `with` block."""

    manager: Value = field(default=UNKNOWN)
