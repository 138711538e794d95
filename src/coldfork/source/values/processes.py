"""Values that start processes: contexts, the objects that are made to start some, and what they share."""

from __future__ import annotations

from typing import Any

from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import External, Keywords, Method, Value

#: The classes of processes that are started by one method, by their names in `multiprocessing.context`.
CLASSES = {"ForkProcess": "fork", "SpawnProcess": "spawn", "ForkServerProcess": "forkserver"}


class Context(Value):
    """A context of multiprocessing."""

    __slots__ = ("by_default", "chosen", "method")

    def __init__(self, method: str, chosen: str, by_default: bool = False) -> None:
        self.method = method
        """The start method; empty where nobody knows which."""
        self.chosen = chosen
        """What chose it, in words."""
        self.by_default = by_default
        """True where nobody states the method."""


class Work(Value):
    """An object that runs functions in processes: a process, a pool, an executor, a loader."""

    __slots__ = ("calls", "condition", "context", "daemonic", "made_at", "starts", "told", "woken")

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
        self.daemonic = False
        """True where its processes are daemons, which may start none themselves."""
        self.told = False
        """True where it was told of already that they cannot be sent what they need."""


class Shared(Value):
    """A lock, a queue or the like, which processes of one context share."""

    __slots__ = ("kind", "method")

    def __init__(self, kind: str, method: str) -> None:
        self.kind = kind
        self.method = method
        """The start method of the context that made it; empty where nobody knows which."""


class Call:
    """A function with the arguments that it is to be called with."""

    __slots__ = ("function", "keywords", "positional")

    def __init__(self, function: Value, positional: tuple[Value, ...], keywords: Keywords) -> None:
        self.function = function
        self.positional = positional
        self.keywords = keywords


def class_of_processes(value: Value) -> Value:
    """The class that a context's `Process` is; any other value as it is."""
    if not isinstance(value, Method) or value.name != "Process" or not isinstance(value.receiver, Context):
        return value
    method = "" if value.receiver.by_default else value.receiver.method
    name = next((name for name, started in CLASSES.items() if started == method), "Process")
    return External(f"multiprocessing.context.{name}")
