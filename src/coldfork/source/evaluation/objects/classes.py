"""Classes: their method resolution order, their members, and objects known only from an annotation."""

from __future__ import annotations

from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.names import class_value
from coldfork.source.program.module import Module
from coldfork.source.program.program import HIERARCHY
from coldfork.source.semantics.classes import Hierarchy, linearised
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node, last_name
from coldfork.source.syntax.outline import bases_of
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import (
    UNKNOWN,
    ClassMethod,
    ClassRef,
    Env,
    External,
    Instance,
    Value,
    Values,
)
from coldfork.source.values.rarer_kinds import class_of_processes
from coldfork.source.values.unions import alternatives

_MOST_SUBCLASSES = 12
#: Annotations such as `Optional[X]` that stand for the X in their brackets.
_LOOKED_THROUGH = frozenset({"Optional", "Final", "ClassVar", "Annotated"})
#: Base classes without source that add no members.
_BARE = frozenset({"builtins.object", "typing.Generic", "abc.ABC", "typing.Protocol"})


def linear(ev: Interpreter, cls: ClassRef) -> Values:
    """Return the class and its bases in method resolution order; bases without source are not expanded."""
    if cls.linear is not None:
        ev.program.consulted |= cls.linear_mask
        return cls.linear
    outer, ev.program.consulted = ev.program.consulted, cls.module.bit
    cls.linear = (cls,)  # prevents endless recursion for a class that is its own base
    bases: list[Value] = []
    for base in cls.statement.bases:
        match base:
            case (nodes.INDEX, expression, _, _) | (nodes.STAR, expression):
                pass
            case expression:
                pass
        bases.append(class_of_processes(_nominal(ev.quietly(cls.module, cls.scope, expression))))
    orders = [linear(ev, base) if isinstance(base, ClassRef) else (base,) for base in bases]
    cls.linear = linearised(cls, bases, orders)
    mask = ev.program.consulted
    cls.linear_mask = ev.memo.same_set(mask)
    ev.program.consulted = outer | mask
    return cls.linear


def _nominal(value: Value) -> Value:
    """Return the first alternative of a value."""
    (first, _condition), *_ = alternatives(value)
    return first


def metaclass(ev: Interpreter, cls: ClassRef) -> ClassRef | None:
    """Return the metaclass of a class; None if its source is not at hand."""
    for base in linear(ev, cls):
        if not isinstance(base, ClassRef):
            continue
        for name, node in base.statement.keywords:
            if name == "metaclass":
                value = ev.quietly(base.module, base.scope, node)
                return value if isinstance(value, ClassRef) else None
    return None


class Classes(Hierarchy[Value, Value]):
    """The classes that the followed code defines or derives from."""

    def __init__(self, ev: Interpreter) -> None:
        self.ev = ev

    def order(self, cls: Value) -> Values:
        return linear(self.ev, cls) if isinstance(cls, ClassRef) else (cls,)

    def held(self, cls: Value, name: str) -> Value | None:
        if isinstance(cls, ClassRef):
            return class_value(self.ev, cls, name)
        if isinstance(cls, External) and cls.name not in _BARE:
            return External(f"{cls.name}.{name}")
        return None


def hook_of(value: Value) -> Value:
    """Return the function of a method, such as `__init_subclass__`, that Python always makes a class
    method.
    """
    return value.function if isinstance(value, ClassMethod) else value


def external_bases(ev: Interpreter, cls: ClassRef) -> list[str]:
    """Return the dotted names of all bases without source."""
    return [base.name for base in linear(ev, cls) if isinstance(base, External)]


def is_enumeration(ev: Interpreter, cls: ClassRef) -> bool:
    """Return True for a class derived from one of the classes of `enum`."""
    return any(name.startswith("enum.") for name in external_bases(ev, cls))


def subclasses(ev: Interpreter, cls: ClassRef) -> list[ClassRef]:
    """Return the classes derived from `cls` in the modules read so far."""
    ev.program.consulted |= ev.program.bit(HIERARCHY)
    found: list[ClassRef] = []
    pending = [cls]
    while pending and len(found) < _MOST_SUBCLASSES:
        name = pending.pop().name
        for module in ev.definitions.modules_deriving_from(name):
            for node in _deriving(ev, module, name):
                candidate = ev.definitions.class_ref(*node, None, "")
                if candidate in found or candidate is cls or cls not in linear(ev, candidate):
                    continue
                found.append(candidate)
                pending.append(candidate)
    return found


def _deriving(ev: Interpreter, module: str, name: str) -> list[tuple[Module, Node]]:
    """Return the top-level classes of a module that have a base with this name."""
    state = ev.program.module(module)
    if state is None:
        return []
    return [(state, node) for base, node in bases_of(state.summary) if base == name]


def instance_of_annotation(ev: Interpreter, module: Module, env: Env | None, node: Node) -> Value:
    """Return an object of the annotated class or of a subclass; `Optional[...]` and quotes are ignored."""
    match node:
        case (nodes.INDEX, head, inner, _):
            if last_name(head) not in _LOOKED_THROUGH:
                return UNKNOWN
            match inner:
                case (nodes.SEQUENCE, _, (first, *_)):
                    inner = first
            return instance_of_annotation(ev, module, env, inner)
        case (nodes.BINARY, "or", left, _, _):
            return instance_of_annotation(ev, module, env, left)
        case (nodes.NAME | nodes.ATTR, *_):
            value = _nominal(ev.quietly(module, env, node))
        case _:
            return UNKNOWN
    if isinstance(value, ClassRef):
        return Instance(value, open_=True)
    return UNKNOWN


def dispatched(ev: Interpreter, instance: Instance, name: str) -> list[tuple[ClassRef, Condition | None]]:
    """Return the classes whose method a call on an annotated object may run; overrides are merely
    possible.
    """
    found: list[tuple[ClassRef, Condition | None]] = [(instance.cls, None)]
    for cls in subclasses(ev, instance.cls):
        if name in cls.binds:
            words = f"the {instance.cls.name} is a {cls.qualified}"
            found.append((cls, Condition(words=words, possible=True)))
    return found
