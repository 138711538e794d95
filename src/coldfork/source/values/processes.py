"""Values that start processes: contexts, and the objects that are made to start some."""

from __future__ import annotations

from typing import Any

from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import Keywords, Value


class Context(Value):
    """A context of multiprocessing."""

    __slots__ = ("chosen", "method")

    def __init__(self, method: str, chosen: str) -> None:
        self.method = method
        """The start method; empty where nobody knows which."""
        self.chosen = chosen
        """What chose it, in words."""


class Work(Value):
    """An object that runs functions in processes: a process, a pool, an executor, a loader."""

    __slots__ = ("calls", "condition", "context", "made_at", "starts", "woken")

    def __init__(self, context: Context | None, calls: tuple[Call, ...] = ()) -> None:
        self.context = context
        """None where it is whatever is the default by the time the processes start."""
        self.calls = calls
        """What every process runs, beside what it is given later."""
        self.made_at: tuple[str, str, int] | None = None
        """Module, function and line of a pool, whose processes start with it."""
        self.woken: Any = None
        """What had been woken by then."""
        self.starts = frozenset({"start"})
        """The methods with which its processes start."""
        self.condition: Condition | None = None
        """What has to hold for it to start any."""


class Call:
    """A function with the arguments that it is to be called with."""

    __slots__ = ("function", "keywords", "positional")

    def __init__(self, function: Value, positional: tuple[Value, ...], keywords: Keywords) -> None:
        self.function = function
        self.positional = positional
        self.keywords = keywords
