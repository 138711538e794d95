"""Evaluates and applies the decorators of functions and classes."""

from __future__ import annotations

import sys

from coldfork.model.effects import Position
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.protocols import read_annotations
from coldfork.source.program.module import Module
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.conditions import Condition, all_of
from coldfork.source.values.kinds import (
    UNKNOWN,
    ClassMethod,
    ClassRef,
    Const,
    Env,
    External,
    Function,
    Method,
    Property,
    StaticMethod,
    Union,
    Unknown,
    Value,
)
from coldfork.source.values.unions import alternatives

Nodes = tuple[tuple[Node, int], ...]
#: The value of each decorator, with its line.
Decorators = tuple[tuple[Value, int], ...]

_DATACLASSES = (
    "dataclasses.dataclass", "dataclasses.dataclass()", "pydantic.dataclasses.dataclass",
    "pydantic.dataclasses.dataclass()", "attr.s", "attr.s()", "attr.define", "attr.define()",
    "attrs.define", "attrs.define()",
)  # fmt: skip


def evaluate(ev: Interpreter, frame: Frame, nodes: Nodes, symbol: str) -> Decorators:
    """Evaluate the decorators of a function or class, in order, and return their values with their lines."""
    outer = frame.enter(Position.DECORATOR, symbol)
    try:
        found = []
        for node, line in nodes:
            frame.at(line, line)
            found.append((ev.evaluate(frame, node), line))
        return tuple(found)
    finally:
        frame.leave(outer)


def apply(ev: Interpreter, frame: Frame, value: Value, decorators: Decorators, symbol: str) -> Value:
    """Return a function or class after calling its decorators on it, the last one first, with all their
    effects.
    """
    outer = frame.enter(Position.DECORATOR, symbol)
    try:
        for decorator, line in reversed(decorators):
            frame.at(line, line)
            value = _applied(ev, frame, decorator, value)
        return value
    finally:
        frame.leave(outer)


def decorated(ev: Interpreter, module: Module, env: Env | None, value: Value, nodes: Nodes) -> Value:
    """Return a function or class, looked up by its name, with its decorators applied."""
    frame = Frame(module, env)
    frame.quiet = True
    ev.failing.append({})
    mark = ev.journal.mark()
    try:
        for node, _ in reversed(nodes):
            value = _applied(ev, frame, ev.evaluate(frame, node), value)
    except Raised:
        pass
    finally:
        ev.failing.pop()
        ev.journal.forget(mark)
    return value


def _applied(ev: Interpreter, frame: Frame, decorator: Value, value: Value) -> Value:
    """Return the result of calling one decorator.

    A decorator of the standard library or of a known library is taken to return its argument. Others without
    source are only presumed to: they may keep the function, call it, or replace it.
    """
    if isinstance(decorator, External):
        if decorator.name in _DATACLASSES:
            read_annotations(ev, frame, value)
        known = _known(decorator.name, value)
        if known is not None:
            return known
    if isinstance(decorator, Method) and isinstance(decorator.receiver, Property):
        held = decorator.receiver
        return Property(
            value if decorator.name == "getter" else held.getter,
            value if decorator.name == "setter" else held.setter,
            value if decorator.name == "deleter" else held.deleter,
        )
    result = ev.call(frame, decorator, (value,))
    if isinstance(result, (Unknown, Const)):
        return value if _is_trusted(ev, decorator) else _presumed(decorator, value)
    if isinstance(result, External) and (not isinstance(decorator, Function) or result.name.endswith("()")):
        return value if _is_trusted(ev, result) else _presumed(result, value)
    return result


def _is_trusted(ev: Interpreter, decorator: Value) -> bool:
    """Return whether a call of the object that a decorator returns is sure to run the decorated function."""
    if not isinstance(decorator, External):
        return not isinstance(decorator, Unknown)
    top = decorator.name.partition(".")[0]
    return top == "builtins" or top in sys.stdlib_module_names or top in ev.known_libraries


def _presumed(decorator: Value, value: Value) -> Value:
    """Return the result of a decorator without source: the decorated value, or an unknown one."""
    name = decorator.name.removesuffix("()") if isinstance(decorator, External) else "the decorator"
    condition = Condition(words=f"{name} returns what it decorates")
    given = [(one, all_of(inner, condition)) for one, inner in alternatives(value) if one is not UNKNOWN]
    return Union((*given, (UNKNOWN, None)))


def _known(name: str, value: Value) -> Value | None:
    """Return the result of a standard decorator that changes how the name behaves, such as `property`; else
    None.
    """
    if name == "builtins.property" or name.endswith(("cached_property", "abc.abstractproperty")):
        return Property(value)
    if name == "builtins.staticmethod":
        return StaticMethod(value)
    if name == "builtins.classmethod":
        return ClassMethod(value)
    if name in ("contextlib.contextmanager", "contextlib.asynccontextmanager") and isinstance(
        value, Function
    ):
        made = Function(value.module, value.line, value.name, value.code, value.env, value.owner)
        made.context = True
        return made
    if name == "functools.wraps()" and isinstance(value, Function):
        value.named = True
        return value
    if name in _DATACLASSES and isinstance(value, ClassRef):
        value.dataclass = True
        return value
    return None
