"""Less common kinds of values: texts that record being read, lazy imports, wrapped functions, processes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from coldfork.source.program.module import Module
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import (
    Bound,
    ClassMethod,
    Const,
    External,
    Function,
    Keywords,
    Method,
    Partial,
    StaticMethod,
    Value,
    Values,
)


class GivenText(Const):
    """A constant text passed to a call; `read` is set when a result may depend on its content."""

    __slots__ = ("_text", "read")

    def __init__(self, text: Const) -> None:
        self._text = text
        self.read: bool = False

    @property
    def value(self) -> Any:
        """The content of the text."""
        self.look()
        return self.unwatched.value

    def look(self) -> None:
        """Mark the text as read, here and in the calls that passed it on."""
        text: Const = self
        while isinstance(text, GivenText):  # not recursive, because ten thousand calls may have passed it on
            text.read = True
            text = text._text

    @property
    def unwatched(self) -> Const:
        """The plain constant: reading it is not recorded."""
        text = self._text
        while isinstance(text, GivenText):
            text = text._text
        return text


def unwatched(value: Value) -> Value:
    """Return the form of a value that cache keys use."""
    return value.unwatched if type(value) is GivenText else value


def is_text(value: Value) -> bool:
    """Return True for a constant text; the content does not count as read."""
    return isinstance(value, Const) and type(unwatched(value).value) is str  # type: ignore[attr-defined]


def look_at(values: Iterable[Value]) -> None:
    """Mark all texts among these values as read."""
    for value in values:
        if isinstance(value, GivenText):
            value.look()


class Wrapped(Value):
    """A function that a library has made from another one: the result of `jax.jit`, for example.

    `maker` is the library function that made the value; `symbol` is the name of such values in the catalogue.
    """

    __slots__ = ("function", "maker")

    def __init__(self, maker: str, function: Value) -> None:
        self.maker: str = maker
        self.function: Value = function

    @property
    def symbol(self) -> str:
        """The name of the function in the catalogue."""
        return f"{self.maker}()"


#: Kinds of values that can only be called.
FUNCTIONS = (Function, Bound, Partial, Wrapped, StaticMethod, ClassMethod)


class Imported(NamedTuple):
    """The module or name that a lazy import statement imports under one name."""

    source: str | None
    level: int
    name: str | None
    """The name taken from the module; None for `import module`."""
    alias: bool
    """For `import a.b`: whether the name stands for the submodule because of an `as`."""
    declared: bool
    """False if `__lazy_modules__` decides whether the import is lazy."""
    line: int

    @classmethod
    def of_module(cls, module: str, alias: bool, declared: bool, line: int) -> Imported:
        """Return the import that `lazy import module` postpones."""
        return cls(module, 0, None, alias, declared, line)

    @classmethod
    def of_name(cls, source: str | None, level: int, name: str, declared: bool, line: int) -> Imported:
        """Return the import that `lazy from source import name` postpones."""
        return cls(source, level, name, True, declared, line)


class LazyImport(Value):
    """An import that has not run yet, with the module that contains the statement."""

    __slots__ = ("imported", "module")

    def __init__(self, module: Module, imported: Imported) -> None:
        self.module: Module = module
        self.imported: Imported = imported

    def __eq__(self, other: object) -> bool:
        return type(other) is LazyImport and self.module is other.module and self.imported == other.imported

    def __hash__(self) -> int:
        return hash(self.imported)


#: Process classes with a fixed start method, by their names in `multiprocessing.context`.
CLASSES = {"ForkProcess": "fork", "SpawnProcess": "spawn", "ForkServerProcess": "forkserver"}


class Context(Value):
    """A context of `multiprocessing`, with its start method."""

    __slots__ = ("by_default", "chosen", "method")

    def __init__(self, method: str, chosen: str, by_default: bool = False) -> None:
        self.method: str = method
        """The start method; empty if unknown."""
        self.chosen: str = chosen
        """A description of the code that chose the method."""
        self.by_default: bool = by_default
        """True if the code names no start method."""


class Work(Value):
    """An object whose processes run functions: a process, a pool, an executor or a data loader."""

    __slots__ = ("calls", "condition", "context", "daemonic", "made_at", "starts", "told", "woken")

    def __init__(self, context: Context | None, calls: tuple[Call, ...] = ()) -> None:
        self.context: Context | None = context
        """The context of the processes; None means the default one at the time when they start."""
        self.calls: tuple[Call, ...] = calls
        """The calls that every process makes, apart from later tasks."""
        self.made_at: tuple[str, str, int] | None = None
        """The module, function and line where a pool was made, which is where its processes start."""
        self.woken: Any = None
        """The surest wake before the pool was made."""
        self.starts: frozenset[str] = frozenset({"start"})
        """The methods that start the object's processes."""
        self.condition: Condition | None = None
        """The condition under which the object starts any processes."""
        self.daemonic: bool = False
        """True if the processes are daemons, which may not start processes themselves."""
        self.told: bool = False
        """True if the values that cannot be sent to the processes have already been reported."""


class Shared(Value):
    """A lock, a queue or a similar object that processes of the same context share."""

    __slots__ = ("kind", "method")

    def __init__(self, kind: str, method: str) -> None:
        self.kind: str = kind
        self.method: str = method
        """The start method of the context that made the object; empty if unknown."""


class Call:
    """A function with the arguments for a later call."""

    __slots__ = ("function", "keywords", "positional")

    def __init__(self, function: Value, positional: Values, keywords: Keywords) -> None:
        self.function: Value = function
        self.positional: Values = positional
        self.keywords: Keywords = keywords


def class_of_processes(value: Value) -> Value:
    """Return the class that `context.Process` refers to; return any other value unchanged."""
    if not isinstance(value, Method) or value.name != "Process" or not isinstance(value.receiver, Context):
        return value
    method = "" if value.receiver.by_default else value.receiver.method
    name = next((name for name, started in CLASSES.items() if started == method), "Process")
    return External(f"multiprocessing.context.{name}")
