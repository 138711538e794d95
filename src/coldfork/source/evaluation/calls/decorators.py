"""What decorators make of a function or class."""

from __future__ import annotations

from coldfork.model.positions import Position
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.program.module import Module
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.kinds import (
    ClassMethod,
    ClassRef,
    Const,
    Env,
    External,
    Function,
    Method,
    Property,
    StaticMethod,
    Unknown,
    Value,
)

Nodes = tuple[tuple[Node, int], ...]

_DATACLASSES = (
    "dataclasses.dataclass",
    "dataclasses.dataclass()",
    "pydantic.dataclasses.dataclass",
    "pydantic.dataclasses.dataclass()",
    "attr.s",
    "attr.s()",
    "attr.define",
    "attr.define()",
    "attrs.define",
    "attrs.define()",
)


def apply(ev: Interpreter, frame: Frame, value: Value, nodes: Nodes, symbol: str) -> Value:
    """Evaluate and apply decorators where they stand, with all that they run."""
    outer = frame.position, frame.symbol
    if frame.toplevel:
        frame.position, frame.symbol = Position.DECORATOR, symbol
    try:
        factories = []
        for node, line in nodes:
            frame.at(line, line)
            factories.append((ev.evaluate(frame, node), line))
        for decorator, line in reversed(factories):
            frame.at(line, line)
            value = _applied(ev, frame, decorator, value)
        return value
    finally:
        frame.position, frame.symbol = outer


def decorated(ev: Interpreter, module: Module, env: Env | None, value: Value, nodes: Nodes) -> Value:
    """The value behind decorators, for somebody who looks it up."""
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
    """One decorator's result; what a decorator without source returns is taken for what it was given."""
    if isinstance(decorator, External):
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
    if isinstance(result, (Unknown, Const)) or (
        isinstance(result, External) and (not isinstance(decorator, Function) or result.name.endswith("()"))
    ):
        return value
    return result


def _known(name: str, value: Value) -> Value | None:
    """Decorators of the standard library that change what a name means."""
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
    if name in _DATACLASSES and isinstance(value, ClassRef):
        value.dataclass = True
        return value
    return None
