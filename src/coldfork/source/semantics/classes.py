"""Classes: their method resolution order, the class of an object, and a module's class objects."""

from __future__ import annotations

import builtins
import collections.abc
import numbers
import sys
import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Generic, NamedTuple, TypeVar

from coldfork.source.program.module import Module
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.kinds import ClassRef, Env

C = TypeVar("C")
Found = TypeVar("Found")


class Member(NamedTuple, Generic[C, Found]):
    """An attribute of a class, its own or inherited."""

    holder: C
    """The class that has it."""
    value: Found


class Hierarchy(ABC, Generic[C, Found]):
    """Looks up members in classes and their bases; only this class implements Python's order."""

    @abstractmethod
    def order(self, cls: C) -> Sequence[C]:
        """Return a class and its bases, in the order in which Python searches them."""

    @abstractmethod
    def held(self, cls: C, name: str) -> Found | None:
        """Return the attribute with this name that the class itself has, not one of its bases."""

    def behind(self, cls: C, after: C) -> Iterator[C]:
        """Return the classes that `super()` searches in a method of `after`."""
        order = iter(self.order(cls))
        for base in order:
            if base == after:
                break
        return order

    def member(self, cls: C, name: str, after: C | None = None) -> Member[C, Found] | None:
        """Return the attribute of this name from the first class in Python's order that has it."""
        held = self.held
        for base in self.order(cls) if after is None else self.behind(cls, after):
            found = held(base, name)
            if found is not None:
                return Member(base, found)
        return None


def linearised(cls: C, bases: Sequence[C], orders: Sequence[Sequence[C]]) -> tuple[C, ...]:
    """Return the method resolution order of a class, given the orders of its bases."""
    if len(bases) == 1:
        return (cls, *orders[0])  # for most classes there is nothing to merge
    return (cls, *_merged([*map(list, orders), list(bases)]))


def _merged(orders: list[list[C]]) -> list[C]:
    """Return the C3 merge of these orders; if they contradict each other, the first base has precedence."""
    merged: list[C] = []
    while orders := [order for order in orders if order]:
        heads = (order[0] for order in orders)
        head = next((one for one in heads if not any(one in other[1:] for other in orders)), orders[0][0])
        merged.append(head)
        orders = [[one for one in order if one is not head and one != head] for order in orders]
    return merged


class DefinedClasses:
    """Keeps one object for each class outside functions; a class in a function is a new object each time."""

    __slots__ = ("_classes",)

    def __init__(self) -> None:
        self._classes: dict[tuple[str, int], ClassRef] = {}

    def of(self, module: Module, node: Node, env: Env | None, within: str) -> ClassRef:
        """Return the class that a CLASS node defines; `within` is the enclosing class, if there is one."""
        _, line, name, *_ = node
        known = self._classes.get((module.name, line)) if env is None else None
        if known is None:
            known = ClassRef(module, node, env, f"{within}.{name}" if within else name)
            if env is None:
                self._classes[module.name, line] = known
        return known


_MODULES: dict[str, ModuleType] = {
    "": builtins,
    "builtins": builtins,
    "collections.abc": collections.abc,
    "numbers": numbers,
    "types": types,
    "typing": typing,
}
#: The classes of containers, by the names that the evaluators use.
CONTAINERS: dict[str, type] = {"list": list, "tuple": tuple, "set": set, "dict": dict}


def belongs(own: type, name: str) -> bool | None:
    """Return whether objects of one class are instances of another, given by dotted name; None if unknown."""
    parent, _, last = name.rpartition(".")
    module = _MODULES.get(parent)
    if module is None:
        return False if _is_class_of_a_library(name) else None
    try:
        return issubclass(own, getattr(module, last))
    except (AttributeError, TypeError):  # no such name, or not a class
        return None


def _is_class_of_a_library(name: str) -> bool:
    """Return whether a name looks like a class of a library, of which no built-in value is an instance.

    The answer is None for names of Python's abstract classes, and of unions such as `ArrayLike`.
    """
    top, _, rest = name.partition(".")
    last = rest.rpartition(".")[2]
    if not last[:1].isupper() or last.isupper() or top in sys.stdlib_module_names or "(" in name:
        return False
    says_nothing = last.endswith(("Like", "Type", "Types"))
    return not says_nothing and not any(hasattr(one, last) for one in _MODULES.values())


def any_of(outcomes: list[bool | None]) -> bool | None:
    """Return whether any outcome is true; None if unknown."""
    return True if True in outcomes else None if None in outcomes else False
