"""Reads attributes of modules, classes, instances and external names, running any code involved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coldfork.knowledge.catalogue import Fact, ValueKind
from coldfork.knowledge.catalogue import Value as KnownValue
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects import pytorch
from coldfork.source.evaluation.objects.classes import (
    dispatched,
    external_bases,
    is_enumeration,
    linear,
    metaclass,
)
from coldfork.source.evaluation.objects.exports import as_catalogued, lazy_export, module_object
from coldfork.source.evaluation.objects.import_edges import import_submodule
from coldfork.source.evaluation.objects.names import imported_value, module_value
from coldfork.source.evaluation.objects.protocols import read_annotations
from coldfork.source.evaluation.trace import Edge
from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.values.kinds import (
    NONE,
    TRUTHY,
    UNKNOWN,
    Attributes,
    Bound,
    ClassMethod,
    ClassRef,
    Const,
    External,
    Function,
    Instance,
    Lazy,
    Mapping,
    Method,
    ModuleRef,
    Partial,
    Property,
    Sequence,
    StaticMethod,
    Super,
    Union,
    Value,
)
from coldfork.source.values.rarer_kinds import Context, GivenText, Shared, Work, Wrapped
from coldfork.source.values.texts import PartialText

_LONGEST_NAME = 160


def known_value(known: KnownValue) -> Value:
    """Convert a value from the catalogue to the evaluator's form."""
    if known.kind is ValueKind.SET:
        return TRUTHY
    return Const(known.constant)


def external(ev: Interpreter, dotted: str) -> Value:
    """Return the value of a dotted name without source: from the catalogue if known there."""
    known = ev.catalogue.values.get(dotted)
    if known is not None:
        return known_value(known)
    if dotted == "sys.version_info":
        return Const((*ev.program.target_version, 0))
    if dotted.endswith(".__version__"):
        version = ev.program.versions.get(dotted.partition(".")[0])
        if version is not None:
            return Const(version)
    if len(dotted) > _LONGEST_NAME:
        return UNKNOWN
    return External(dotted)


def attribute(ev: Interpreter, frame: Frame, value: Value, name: str) -> Value:
    """Return `value.name`."""
    reader = _READERS.get(type(value))
    if reader is None:
        if name == "__annotations__":
            read_annotations(ev, frame, value)
        if type(value) is Method and isinstance(value.receiver, (Const, PartialText)) and not ev.presumes:
            # no text has this attribute, so the value is a path
            return External(f"pathlib.Path().{value.name}.{name}")
        return UNKNOWN
    return reader(ev, frame, value, name)


def _of_union(ev: Interpreter, frame: Frame, value: Union, name: str) -> Value:
    def one(single: Value) -> Value:
        if single == NONE and not hasattr(None, name):
            raise Raised("AttributeError")  # this alternative is impossible here
        return attribute(ev, frame, single, name)

    return ev.for_each_alternative(frame, value, one)


def _of_module(ev: Interpreter, frame: Frame, value: ModuleRef, name: str) -> Value:
    known = ev.catalogue.values.get(f"{value.name}.{name}")
    if known is not None:
        return known_value(known)
    if name == "__version__" and value.name in ev.program.versions:
        return Const(ev.program.versions[value.name])  # many packages compute it in complicated ways
    state = ev.program.module(value.name)
    if state is None:  # this is a namespace package
        dotted = f"{value.name}.{name}"
        import_submodule(ev, frame, dotted)
        return module_object(ev, dotted) if ev.program.exists(dotted) else external(ev, dotted)
    found = module_value(ev, state, name)
    if found is not None and name in state.lazy:
        found = ev.read_lazily(frame, found)
    elif found is None and ev.program.exists(f"{value.name}.{name}"):
        if frame.module.lazy:
            import_submodule(ev, frame, f"{value.name}.{name}")
        found = module_object(ev, f"{value.name}.{name}")
    if found is None:
        return module_attribute(ev, frame, state, name)
    _note_attribute(ev, frame, f"{value.name}.{name}")
    return as_catalogued(ev, frame.module, f"{value.name}.{name}", found)


def module_attribute(ev: Interpreter, frame: Frame, state: Module, name: str) -> Value:
    """Return an attribute that no statement of a module binds: by `__getattr__`, or compiled."""
    dotted = f"{state.name}.{name}"
    if name == "__name__":
        return Const(state.name)
    if name in ("__file__", "__dict__"):
        return TRUTHY if name == "__file__" else UNKNOWN
    _note_attribute(ev, frame, dotted)
    getter = module_value(ev, state, "__getattr__")
    if getter is not None:
        try:
            result = ev.call(frame, getter, (Const(name),))
        except Raised:
            return external(ev, dotted)  # code that cannot be followed may bind the name
        if result is not UNKNOWN:
            return result
        return typed_value(ev, state, name) or UNKNOWN
    lazily = lazy_export(state, name)
    if lazily is not None:
        frame.edge(Edge(lazily[0], (), (), None), False)
        return imported_value(ev, lazily[0], lazily[1])
    return external(ev, dotted)


def typed_value(ev: Interpreter, state: Module, name: str) -> Value | None:
    """Return an object of the class that a module's annotation gives for a name."""
    for how, payload, _line, _guards in state.summary.binds.get(name, ()):
        if how == nodes.BY_TYPE:
            return ev.instance_of(state, None, payload)
    return None


def _note_attribute(ev: Interpreter, frame: Frame, dotted: str) -> None:
    for fact in ev.catalogue.attributes.get(dotted, ()):
        ev.record_fact(frame, fact)


def _of_external(ev: Interpreter, frame: Frame, value: External, name: str) -> Value:
    dotted = f"{value.name}.{name}"
    if ev.catalogue.attributes or ev.catalogue.attribute_wildcards:
        for fact in ev.catalogue.attribute(dotted) or _about_result(ev, value.name, name):
            ev.record_fact(frame, fact)
    known = pytorch.device_attribute(value, name) or pytorch.tensor_of_attribute(ev, value, name)
    return known or external(ev, dotted)


def _about_result(ev: Interpreter, made: str, name: str) -> tuple[Fact, ...]:
    """Return the catalogue's facts about an attribute of a call's result."""
    type_ = ev.catalogue.returned(made[:-2]) if made.endswith("()") else None
    return ev.catalogue.attributes.get(f"{type_}().{name}", ()) if type_ else ()


def _of_class(ev: Interpreter, frame: Frame, value: ClassRef, name: str) -> Value:
    if name == "__annotations__":
        read_annotations(ev, frame, value)
        return UNKNOWN
    meta = None if ev.presumes else metaclass(ev, value)
    if meta is not None and (every := _asked_first(ev, meta, name)) is not None:
        return ev.call(frame, Bound(every, value), (Const(name),))
    found = ev.member(value, name)
    if found is not None and not (isinstance(found.value, External) and isinstance(found.holder, External)):
        if isinstance(found.holder, ClassRef) and is_enumeration(ev, found.holder):
            return _member_of(found.holder, name, found.value)
        if isinstance(found.value, Instance) and isinstance(found.holder, ClassRef):
            return _through_descriptor(ev, frame, found.value, NONE, value)
        return _bind_to_class(found.value, value)
    meta = metaclass(ev, value)
    if meta is not None:
        through_meta = ev.member(meta, name)
        if through_meta is not None and isinstance(through_meta.holder, ClassRef):
            return _bind(ev, frame, through_meta.value, value)
        getter = ev.member(meta, "__getattr__") if name != "__name__" else None
        if getter is not None and isinstance(getter.holder, ClassRef):
            return ev.call(frame, Bound(getter.value, value), (Const(name),))
    if name == "__name__":
        return Const(value.name)
    return found.value if found is not None else UNKNOWN


def _member_of(cls: ClassRef, name: str, value: Value) -> Value:
    """Return the enumeration member of this name; a method is returned as it is."""
    if isinstance(value, (Function, ClassMethod, StaticMethod, Property, ClassRef)) or name.startswith("_"):
        return _bind_to_class(value, cls)
    known = cls.members.get(name)
    if known is None:
        known = cls.members[name] = Instance(cls)
        known.attributes.update({"name": Const(name), "value": value, "_value_": value})
    return known


def _bind_to_class(value: Value, cls: ClassRef) -> Value:
    if isinstance(value, ClassMethod):
        return Bound(value.function, cls)
    if isinstance(value, StaticMethod):
        return value.function
    return value


def _asked_first(ev: Interpreter, cls: ClassRef, name: str) -> Value | None:
    """Return a class's `__getattribute__`; it is rare, and so ignored unless results must be certain."""
    if ev.presumes or name.startswith("__"):
        return None
    held = ev.member(cls, "__getattribute__")
    return held.value if held is not None and isinstance(held.holder, ClassRef) else None


def _of_instance(ev: Interpreter, frame: Frame, value: Instance, name: str) -> Value:
    if (every := _asked_first(ev, value.cls, name)) is not None:
        return ev.call(frame, Bound(every, value), (Const(name),))
    own = value.attributes.get(name)
    if own is not None:
        return own
    if name == "__class__":
        return value.cls
    if name == "__dict__":
        return Attributes(value)
    if value.open:
        return _of_open_instance(ev, frame, value, name)
    found = ev.member(value.cls, name)
    if found is not None and isinstance(found.holder, ClassRef):
        return _bind(ev, frame, found.value, value)
    getter = ev.member(value.cls, "__getattr__")
    if getter is not None and isinstance(getter.holder, ClassRef) and not name.startswith("__"):
        return ev.call(frame, Bound(getter.value, value), (Const(name),))
    if external_bases(ev, value.cls):
        return Method(value, name)
    return UNKNOWN


def _of_open_instance(ev: Interpreter, frame: Frame, value: Instance, name: str) -> Value:
    """Return an attribute of an object known only by an annotation: from the class, or from a subclass."""
    found = []
    for cls, condition in dispatched(ev, value, name):
        held = ev.member(cls, name)
        if held is not None and isinstance(held.holder, ClassRef):
            stand_in = Instance(cls, open_=True)
            method = isinstance(held.value, (Function, ClassMethod, StaticMethod))
            found.append((_bind(ev, frame, held.value, stand_in) if method else UNKNOWN, condition))
    if not found:
        return Method(value, name)
    if len(found) == 1:
        ((only, _condition),) = found
        return only
    return Union(tuple(found))


def _bind(ev: Interpreter, frame: Frame, value: Value, receiver: Value) -> Value:
    """Return an attribute of a class as it is read from an object: methods and descriptors are bound."""
    if isinstance(value, (Function,)):
        return Bound(value, receiver)
    if isinstance(value, ClassMethod):
        return Bound(value.function, receiver.cls if isinstance(receiver, Instance) else receiver)
    if isinstance(value, StaticMethod):
        return value.function
    if isinstance(value, Property):
        return ev.call(frame, value.getter, (receiver,))
    if isinstance(value, Lazy) and value.kind == "method":
        function, positional, keywords = value.call
        return Partial(_bind(ev, frame, function, receiver), positional, keywords)
    if isinstance(value, Partial) and ev.program.target_version >= (3, 14):
        return Partial(value.function, (*value.positional, receiver), value.keywords)
    if isinstance(value, Wrapped):
        return Wrapped(value.maker, _bind(ev, frame, value.function, receiver))
    if isinstance(value, Instance):
        return _through_descriptor(
            ev, frame, value, receiver, receiver.cls if isinstance(receiver, Instance) else receiver
        )
    if isinstance(value, Union):
        return ev.for_each_alternative(frame, value, lambda single: _bind(ev, frame, single, receiver))
    return value


def _through_descriptor(
    ev: Interpreter, frame: Frame, value: Instance, receiver: Value, owner: Value
) -> Value:
    """Return an attribute found on a class; if it has a `__get__`, the result of that."""
    getter = ev.member(value.cls, "__get__")
    if getter is not None and isinstance(getter.holder, ClassRef):
        return ev.call(frame, Bound(getter.value, value), (receiver, owner))
    return value


def _of_super(ev: Interpreter, frame: Frame, value: Super, name: str) -> Value:
    receiver = value.receiver
    cls = receiver.cls if isinstance(receiver, Instance) else receiver
    cls = cls if isinstance(cls, ClassRef) else value.after
    if value.after not in linear(ev, cls):
        cls = value.after
    found = ev.member(cls, name, after=value.after)
    if found is None or not isinstance(found.holder, ClassRef):
        return Method(value, name)
    if isinstance(found.value, Function) and isinstance(receiver, ClassRef) and name == "__new__":
        return found.value
    return _bind(ev, frame, found.value, receiver)


def _of_wrapped(ev: Interpreter, frame: Frame, value: Wrapped, name: str) -> Value:
    """Return a wrapped function's attribute: the inner function's if special, else the library's."""
    if name in ("__wrapped__", "__func__"):
        return value.function
    if name.startswith("__"):
        return ev.attribute(frame, value.function, name)
    return external(ev, f"{value.symbol}.{name}")


def _of_partial(ev: Interpreter, frame: Frame, value: Partial, name: str) -> Value:
    """Return an attribute that a call's result stores together with the call's arguments."""
    made = value.function
    known = isinstance(made, External) and made.name[-1] == ")"
    return _of_external(ev, frame, made, name) if known else UNKNOWN  # type: ignore[arg-type]


#: Values of which only the methods are known.
_PLAIN = (Attributes, Sequence, Mapping, Const, GivenText, Property, PartialText, Context, Shared, Work)
_READERS: dict[type[Value], Callable[[Interpreter, Frame, Any, str], Value]] = {
    Union: _of_union,
    ModuleRef: _of_module,
    External: _of_external,
    ClassRef: _of_class,
    Instance: _of_instance,
    Super: _of_super,
    Wrapped: _of_wrapped,
    Partial: _of_partial,
    **dict.fromkeys(_PLAIN, lambda ev, frame, value, name: Method(value, name)),
}
