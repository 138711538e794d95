"""The effects of code that cannot be followed, in a process whose variables are known.

Normally the analysis presumes that a module's variables do not change during an import, because code rarely
changes them then. Where a result has to be certain, this is not safe. There, at each later call, unknown code
may modify anything that it was ever given, and may call any code of the program that sets variables of
modules, classes and objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.mutation import forget
from coldfork.source.syntax import nodes
from coldfork.source.values.kinds import (
    UNKNOWN,
    Attributes,
    Bound,
    ClassMethod,
    ClassRef,
    Env,
    External,
    Function,
    Instance,
    Keywords,
    Lazy,
    Mapping,
    Method,
    Partial,
    Property,
    Sequence,
    StaticMethod,
    Super,
    Union,
    Unknown,
    Value,
    Values,
)
from coldfork.source.values.rarer_kinds import Wrapped

_OWN_WORK = ("builtins.", "torch.")
"""Libraries whose functions run code of the program only if it is passed to them."""
_QUIET = (*_OWN_WORK, "logging.", "math.", "os.environ.", "os.getpid", "os.path.", "random.", "time.")
_RUNNABLE = (Function, Bound, Partial, Wrapped, Lazy)


class Writers(Protocol):
    """Finds the variables and attributes that functions of the program set."""

    def variables(self, module: str) -> frozenset[str]:
        """Return the variables of a module that some function declares `global`."""
        ...

    def writes(self, attribute: str) -> bool:
        """Return whether a function sets an attribute of this name on any object but the one that it
        constructs.
        """
        ...


class UnknownCode:
    """The values that code that cannot be followed can reach, and so may have changed."""

    def __init__(self, ev: Interpreter, writers: Writers) -> None:
        self._ev = ev
        self._writers = writers
        self._held: dict[int, Value] = {}
        """Every value that unknown code can reach, by identity."""
        self._cells: dict[tuple[int, str], Env] = {}
        """Variables of functions that unknown code may rebind, by calling a nested function."""
        self._classes: list[ClassRef] = []
        self._objects: list[Instance] = []
        self.calls: int = 0
        """How often unknown code may have run: earlier results are not valid after it has."""

    def know(self, *things: ClassRef | Instance) -> None:
        """Record classes and objects of the running process, which any code can find."""
        for thing in things:
            if isinstance(thing, ClassRef):
                self._classes.append(thing)
            else:
                self._objects.append(thing)

    def called(self, callee: Value, positional: Values, keywords: Keywords) -> None:
        """Record a call; if it cannot be followed, it may do anything with the objects that it can reach."""
        given = (*positional, *keywords.values())
        if isinstance(callee, External):
            if callee.name.startswith(_QUIET) and not any(map(_is_runnable, given)):
                return
        elif not isinstance(callee, Unknown):
            return
        self.met(*given)

    def met(self, *given: Value) -> None:
        """Record that unknown code is given these values, and may run now."""
        self.hand(*given)
        self._disturb()

    def hand(self, *given: Value) -> None:
        """Record that unknown code gets these values."""
        waiting = list(given)
        while waiting:
            value = waiting.pop()
            if id(value) in self._held or isinstance(value, (Unknown, External)):
                continue
            self._held[id(value)] = value
            waiting += _reached_from(value)
            if isinstance(value, (Function, ClassRef)):
                waiting += self._closed_over(value)

    def _closed_over(self, value: Function | ClassRef) -> Iterator[Value]:
        """Yield the variables of enclosing functions that a nested function or class uses."""
        env = value.env
        if env is None:
            return
        code = value.statement if isinstance(value, ClassRef) else self._ev.definitions.code_of(value)
        mentioned, rebound = _names_in(code)
        while env is not None:
            for name in mentioned & env.names.keys():
                yield env.names[name]
            for name in rebound & env.names.keys():
                self._cells[id(env), name] = env
            # A variable that is not bound yet can be reached later.
            for name in rebound - env.names.keys():
                self._cells.setdefault((id(env), name), env)
            env = env.outer

    def _disturb(self) -> None:
        self.calls += 1
        self.hand(*self._in_the_process())
        for value in self._held.values():
            if isinstance(value, ClassRef):
                self._forget_class(value)
            else:
                forget(value)
        for (_, name), env in self._cells.items():
            if name in env.names:
                self._unset(env.names, name)
        rebound = self._ev.running.rebound
        for key in [key for key, value in rebound.items() if value is not UNKNOWN]:
            module, name = key
            if name in self._writers.variables(module) or self._writers.writes(name):
                self._unset(rebound, key)
        for cls in self._classes:
            self._forget_written(cls.outside)
        for thing in self._objects:
            self._forget_written(thing.attributes)

    def _in_the_process(self) -> Iterator[Value]:
        """Yield the values in modules, classes and objects of the running process, which any code
        can find.
        """
        yield from self._ev.running.rebound.values()
        for cls in self._classes:
            yield from (cls.outside or {}).values()
        for thing in self._objects:
            yield from thing.attributes.values()

    def _forget_class(self, cls: ClassRef) -> None:
        for name in cls.outside or {}:
            assert cls.outside is not None
            self._unset(cls.outside, name)

    def _forget_written(self, attributes: dict[str, Value] | None) -> None:
        for name, value in (attributes or {}).items():
            if value is not UNKNOWN and self._writers.writes(name):
                assert attributes is not None
                self._unset(attributes, name)

    def _unset(self, names: dict[Any, Value], name: object) -> None:
        if names[name] is not UNKNOWN:
            self._ev.journal.note_variable(names, name)
            names[name] = UNKNOWN


def _is_runnable(value: Value) -> bool:
    if isinstance(value, (Sequence, Mapping, Union)):
        return any(map(_is_runnable, _reached_from(value)))
    return isinstance(value, _RUNNABLE)


def _reached_from(value: Value) -> Iterable[Value]:
    """Return the values directly inside a value: elements, attributes, alternatives."""
    match value:
        case Instance():
            return [*value.attributes.values(), value.cls]
        case Mapping():
            return [*value.items.keys(), *value.items.values()]
        case Sequence():
            return value.items
        case Union():
            return [single for single, _ in value.alternatives]
        case Bound():
            return [value.function, value.receiver]
        case Method() | Super():
            return [value.receiver]
        case Attributes():
            return [value.owner]
        case Partial():
            return [value.function, *value.positional, *value.keywords.values()]
        case Lazy():
            function, positional, keywords = value.call
            return [function, *positional, *keywords.values()]
        case Property():
            return [one for one in (value.getter, value.setter, value.deleter) if one is not None]
        case ClassMethod() | StaticMethod() | Wrapped():
            return [value.function]
    return ()


def _names_in(code: object) -> tuple[set[str], set[str]]:
    """Return all words in a piece of lowered code, names included, and the names declared `nonlocal`."""
    mentioned: set[str] = set()
    rebound: set[str] = set()
    waiting = [code]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            mentioned.add(part)
        elif isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, tuple):
            if len(part) == 3 and part[0] == nodes.NONLOCAL and isinstance(part[2], tuple):
                rebound.update(name for name in part[2] if isinstance(name, str))
            waiting += part
    return mentioned, rebound


_LEAVING_ALONE = ("builtins.", "torch.")
_READING = frozenset({"get", "keys", "values", "items", "index", "count", "copy", "append", "setdefault"})
"""Methods of containers that either change nothing or make changes that are followed."""


def disturb_arguments(callee: Value, positional: Values, keywords: Keywords) -> None:
    """Forget the contents of a call's arguments, unless the call is known to leave the arguments
    unchanged.
    """
    if isinstance(callee, Method):
        if callee.name not in _READING:
            if isinstance(callee.receiver, (Mapping, Sequence)):
                forget(callee.receiver)
            _forget_all(positional, keywords)
    elif isinstance(callee, Unknown) or (
        isinstance(callee, External) and not callee.name.startswith(_LEAVING_ALONE)
    ):
        _forget_all(positional, keywords)


def _forget_all(positional: Values, keywords: Keywords) -> None:
    for value in (*positional, *keywords.values()):
        forget(value)
