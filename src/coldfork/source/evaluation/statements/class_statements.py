"""Class statements: bases, metaclass, body, and the methods that Python calls when a class is created."""

from __future__ import annotations

from coldfork.model.effects import Position
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.assignment import bind_name, defining_env, stored
from coldfork.source.evaluation.objects.classes import hook_of, linear, metaclass
from coldfork.source.evaluation.objects.names import class_value
from coldfork.source.evaluation.objects.protocols import read_annotations
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.kinds import (
    UNKNOWN,
    Bound,
    ClassEnv,
    ClassRef,
    Const,
    External,
    Function,
    Instance,
    Keywords,
    Mapping,
    Value,
)

#: Classes that generate code from their subclasses' annotations.
_READING = frozenset({
    "typing.NamedTuple", "typing.TypedDict", "typing.Protocol", "typing_extensions.NamedTuple",
    "typing_extensions.TypedDict", "typing_extensions.Protocol", "pydantic.BaseModel", "msgspec.Struct",
})  # fmt: skip


def define_class(ev: Interpreter, frame: Frame, node: Node) -> int:
    """Run everything that a class statement executes, in Python's order."""
    _, line, name, decorators, bases, keywords, body, binds = node
    outer_cls = frame.cls
    cls = ev.definitions.class_ref(
        frame.module, node, defining_env(frame), outer_cls.qualified if outer_cls is not None else ""
    )
    if outer_cls is not None:
        cls.scope = frame.env
    decorating = ev.evaluate_decorators(frame, decorators, name) if decorators else ()
    frame.at(line, line)
    given: Keywords = {}
    if bases or keywords:
        outer = frame.enter(Position.BASE_CLASS, name)
        for base in bases:
            ev.evaluate(frame, base)
        for keyword, expression in keywords:
            given[keyword] = ev.evaluate(frame, expression)
        frame.leave(outer)
    if body:
        _run_body(ev, frame, cls, body, binds)
    if bases or keywords or binds:
        _hooks(ev, frame, cls, given, line)
    value: Value = cls
    if decorating:
        value = ev.apply_decorators(frame, cls, decorating, name)
    if stored(frame, name):
        bind_name(ev, frame, name, value)
    return 0


def _run_body(
    ev: Interpreter, frame: Frame, cls: ClassRef, body: tuple[Node, ...], binds: dict[str, tuple[Node, ...]]
) -> None:
    saved = frame.env, frame.cls, frame.binds, frame.conditions
    outer = frame.enter(Position.CLASS_BODY, cls.qualified)
    env = ClassEnv(cls)
    if env.outer is None:
        env.outer = frame.env  # the variables that the module body has set so far
    frame.env, frame.cls, frame.binds = env, cls, binds
    try:
        ev.execute(frame, body)
    finally:
        frame.env, frame.cls, frame.binds, frame.conditions = saved
        frame.leave(outer)


def _hooks(ev: Interpreter, frame: Frame, cls: ClassRef, given: Keywords, line: int) -> None:
    """Run the methods that creating a class calls: the metaclass's, `__set_name__` and
    `__init_subclass__`.
    """
    frame.at(line, line)
    meta = metaclass(ev, cls)
    called = given.get("metaclass")
    if isinstance(called, (Function, Bound, Instance)):
        outer = frame.enter(Position.METACLASS, cls.qualified)
        ev.call(frame, called, (Const(cls.name), UNKNOWN, Mapping({}, exact=False)))
        frame.leave(outer)
    if meta is not None:
        outer = frame.enter(Position.METACLASS, cls.qualified)
        for hook in ("__prepare__", "__new__", "__init__"):
            held = ev.member(meta, hook)
            if held is None or not isinstance(held.holder, ClassRef):
                continue
            function = hook_of(held.value)
            if isinstance(function, Function):
                receiver: Value = cls if hook == "__init__" else meta
                arguments = (Const(cls.name), UNKNOWN, Mapping({}, exact=False))
                named = {name: value for name, value in given.items() if name != "metaclass"}
                ev.call(frame, Bound(function, receiver), arguments, named)
        frame.leave(outer)
    for name in _names_of_objects(cls):
        value = class_value(ev, cls, name)
        if isinstance(value, Instance):
            held = ev.member(value.cls, "__set_name__")
            if held is not None and isinstance(held.holder, ClassRef):
                outer = frame.enter(Position.CLASS_BODY, cls.qualified)
                ev.call(frame, Bound(held.value, value), (cls, Const(name)))
                frame.leave(outer)
    bases = linear(ev, cls)[1:]
    reads = any(isinstance(base, External) and base.name in _READING for base in bases)
    if "__annotate__" in cls.binds and reads:
        frame.at(line, line)
        read_annotations(ev, frame, cls)
    if bases:
        held = ev.member(cls, "__init_subclass__", after=cls)
        if held is not None and isinstance(held.holder, ClassRef) and not isinstance(held.value, External):
            function = hook_of(held.value)
            outer = frame.enter(Position.CLASS_BODY, cls.qualified)
            ev.call(frame, Bound(function, cls), (), {k: v for k, v in given.items() if k != "metaclass"})
            frame.leave(outer)


def _names_of_objects(cls: ClassRef) -> dict[str, None]:
    """Return the names that a class body binds to results of calls, which may have a `__set_name__`."""
    return {
        name: None
        for name, entries in cls.binds.items()
        for how, payload, _line, _guards in entries
        if how in (nodes.BY_VALUE, nodes.BY_STATEMENT) and payload[0] == nodes.CALL
    }
