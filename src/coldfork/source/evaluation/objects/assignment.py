"""Assigns values to names, attributes and items."""

from __future__ import annotations

from coldfork.model.effects import EffectKind, StepKind
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.mutation import forget, set_attribute, set_item, set_on_class
from coldfork.source.evaluation.objects.names import global_value, name_value
from coldfork.source.evaluation.objects.protocols import unpack
from coldfork.source.evaluation.starting import note_start
from coldfork.source.evaluation.trace import Link, Start
from coldfork.source.semantics.constants import STARTED
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.variables import VISIBILITY
from coldfork.source.values.kinds import (
    TRUE,
    UNKNOWN,
    Attributes,
    ClassRef,
    Const,
    Env,
    External,
    Function,
    Instance,
    Mapping,
    ModuleRef,
    Property,
    Sequence,
    Unknown,
    Value,
)
from coldfork.source.values.rarer_kinds import Work
from coldfork.source.values.unions import alternatives, union


def stored(frame: Frame, name: str) -> bool:
    """Return True if the value of `name` must be stored; a name that a body binds once is looked up when
    needed.
    """
    if frame.env is None:
        return False
    if frame.binds is None:
        return True
    entries = frame.binds.get(name, ())
    if len(entries) != 1:
        return True
    ((how, _payload, _line, guards),) = entries
    return bool(guards) or how == nodes.BY_STATEMENT


def bind_name(ev: Interpreter, frame: Frame, name: str, value: Value) -> None:
    """Set a variable of the frame; one declared `global` or `nonlocal` is set in its own scope."""
    assert frame.env is not None
    frame.env.names[name] = value
    if name in frame.globals and frame.off is None:
        _set_global(ev, frame, name, value)
        _belongs_to_others(ev, frame, name)
    elif name in frame.nonlocals and frame.off is None:
        outer = frame.env.outer
        while outer is not None:
            if name in outer.names:
                ev.journal.note_variable(outer.names, name)
                outer.names[name] = value if not frame.conditions else union((outer.names[name], value))
                _belongs_to_others(ev, frame, name)
                break
            outer = outer.outer


def _belongs_to_others(ev: Interpreter, frame: Frame, name: str) -> None:
    """Forget a variable of the frame if code that cannot be followed may rebind it at any call."""
    if ev.unknown_code is not None and frame.env is not None:
        frame.env.names.pop(name, None)


def _set_global(ev: Interpreter, frame: Frame, name: str, value: Value) -> None:
    """Rebind a module variable in a function that declares it `global`."""
    if isinstance(value, Function):
        value.named = True
    key = (frame.module.name, name)
    known = global_value(ev, frame.module, name)
    if frame.conditions or ev.joining:
        value = union((known, value))
    if value is known or value == known:
        ev.journal.shared += 1  # a result that depends on this value may not be cached
        return  # nothing changes, and earlier results remain valid
    ev.journal.note_variable(ev.running.rebound, key)
    ev.running.rebound[key] = value


def defining_env(frame: Frame) -> Env | None:
    """Return the variables of the frame that a function defined there can see: not those of a module or class
    body.
    """
    if frame.cls is not None:
        return frame.cls.env
    return None if frame.toplevel else frame.env


def assign(ev: Interpreter, frame: Frame, target: Node, value: Value) -> None:
    """Assign a value to a target."""
    kind = target[0]
    if kind == nodes.TO_NAME:
        _, name = target
        if stored(frame, name):
            bind_name(ev, frame, name, value)
    elif kind == nodes.TO_TUPLE:
        _, targets = target
        _unpack(ev, frame, targets, value)
    elif kind == nodes.TO_STAR:
        _, starred = target
        assign(ev, frame, starred, value)
    elif kind == nodes.TO_ATTR:
        _, owner, attribute, _ = target
        assign_attribute(ev, frame, ev.evaluate(frame, owner), attribute, value)
    elif kind == nodes.TO_INDEX:
        _, owner, index, _ = target
        _set_item(ev, frame, ev.evaluate(frame, owner), ev.evaluate(frame, index), value)


def _unpack(ev: Interpreter, frame: Frame, targets: tuple[Node, ...], value: Value) -> None:
    items, exact = unpack(ev, frame, value)
    starred = [index for index, target in enumerate(targets) if target[0] == nodes.TO_STAR]
    if exact and not starred and len(items) == len(targets):
        for target, item in zip(targets, items, strict=True):
            assign(ev, frame, target, item)
        return
    if exact and len(starred) == 1 and len(items) >= len(targets) - 1:
        at = starred[0]
        tail = len(targets) - at - 1
        middle = items[at : len(items) - tail]
        parts = [*items[:at], Sequence("list", tuple(middle)), *items[len(items) - tail :]]
        for target, item in zip(targets, parts, strict=True):
            assign(ev, frame, target, item)
        return
    if isinstance(value, Sequence) and value.kind == STARTED and not starred:
        items = (*items[:-1], *[UNKNOWN] * len(targets))[: len(targets)]
        for target, item in zip(targets, items, strict=True):
            assign(ev, frame, target, item)
        return
    rest = union(items) if items else UNKNOWN
    several = Sequence("list", items, exact=False)
    for target in targets:
        assign(ev, frame, target, several if target[0] == nodes.TO_STAR else rest)


def assign_attribute(ev: Interpreter, frame: Frame, receiver: Value, name: str, value: Value) -> None:
    """Assign `receiver.name = value`, running a property's setter or other code that is called."""
    for single, _ in alternatives(receiver):
        if isinstance(single, Instance):
            _assign_to_instance(ev, frame, single, name, value)
        elif isinstance(single, ClassRef):
            set_on_class(ev, frame, single, name, value)
        elif isinstance(single, Work):
            single.daemonic = single.daemonic or (name == "daemon" and value == TRUE)
        elif ev.unknown_code is not None:
            ev.unknown_code.met(value)
            if isinstance(single, (External, ModuleRef)) and not isinstance(value, Const):
                frame.doubt(f"{name} still does what its sources say")


def _assign_to_instance(ev: Interpreter, frame: Frame, receiver: Instance, name: str, value: Value) -> None:
    """Set an attribute through a descriptor's `__set__`, a property's setter or `__setattr__`, or else
    directly.
    """
    held = ev.member(receiver.cls, name)
    if held is not None and isinstance(held.value, Instance):
        setter = ev.member(held.value.cls, "__set__")
        if setter is not None:
            ev.call(frame, ev.attribute(frame, held.value, "__set__"), (receiver, value))
            return
    if held is not None and isinstance(held.value, Property) and held.value.setter is not None:
        ev.call(frame, held.value.setter, (receiver, value))
        return
    custom = ev.member(receiver.cls, "__setattr__")
    if custom is not None and not isinstance(custom.value, External):
        ev.call(frame, ev.attribute(frame, receiver, "__setattr__"), (Const(name), value))
        if not ev.presumes:
            return  # a custom `__setattr__` need not set anything
    set_attribute(ev, frame, receiver, name, value)


def _set_item(ev: Interpreter, frame: Frame, receiver: Value, key: Value, value: Value) -> None:
    for single, _ in alternatives(receiver):
        if isinstance(single, Mapping):
            set_item(ev, frame, single, key, value)
        elif isinstance(single, Attributes):
            if isinstance(key, Const):
                set_attribute(ev, frame, single.owner, str(key.value), value)
        elif isinstance(single, External) and single.name == "os.environ" and isinstance(key, Const):
            set_environment(ev, frame, str(key.value), value)
        elif isinstance(single, Instance):
            setter = ev.member(single.cls, "__setitem__")
            if setter is not None and not isinstance(setter.value, External):
                ev.call(frame, ev.attribute(frame, single, "__setitem__"), (key, value))
        elif ev.unknown_code is not None:
            ev.unknown_code.met(key, value)
            _forget_items(frame, single)


def _forget_items(frame: Frame, receiver: Value) -> None:
    """Forget a list's items after an assignment to one of them. If the object is unknown, doubt later
    results.
    """
    if isinstance(receiver, Sequence):
        forget(receiver)
    elif isinstance(receiver, (External, Unknown)):
        frame.doubt("all names still mean what the sources say")


def set_environment(ev: Interpreter, frame: Frame, name: str, value: Value) -> None:
    """Record an environment variable that the code sets, if it is certain to do so."""
    if frame.quiet:
        return
    if name in VISIBILITY and not (
        isinstance(value, Const) and ev.environment.values.get(name) == value.value
    ):
        end = Link(StepKind.SINK, f'os.environ["{name}"]', None, None, None)
        note_start(frame, Start(EffectKind.SETS_VISIBILITY, "", "", name, (), (), end))
    ev.environment.set(name, str(value.value) if isinstance(value, Const) and not frame.conditions else None)
    ev.journal.note_peculiar()


def augmented(ev: Interpreter, frame: Frame, target: Node, operator: str, right: Node) -> None:
    """Run `target op= right`: call `__iadd__` or the like if it is defined, else the operator, and assign the
    result.
    """
    match target:
        case (nodes.TO_NAME, name):
            current = ev.read_lazily(frame, name_value(ev, frame, name))
        case (nodes.TO_ATTR, owner, attribute, _):
            current = ev.attribute(frame, ev.evaluate(frame, owner), attribute)
        case (nodes.TO_INDEX, owner, index, _):
            current = ev.item(frame, ev.evaluate(frame, owner), ev.evaluate(frame, index))
        case _:
            ev.evaluate(frame, right)
            return
    assign(ev, frame, target, ev.operate(frame, operator, current, ev.evaluate(frame, right)))
