"""Attributes of code around and inside a capture: what is known of an object's, and who defines it."""

from __future__ import annotations

from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import (
    Above,
    Arguments,
    ClassDef,
    Constant,
    Inside,
    Object,
    Outside,
    Tensor,
    Value,
)
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node


def attribute(f: Following, owner: Value, name: str) -> Value:
    """An attribute of what an expression gave."""
    if isinstance(owner, Outside):
        return Outside(f"{owner.name}.{name}")
    if isinstance(owner, Inside):
        return f.names.from_module(owner.name, name)
    if isinstance(owner, ClassDef):
        shared = f.names.globals_of(owner.module).parts.get(f"{owner.name}.{name}")
        return shared or f.names.of_class(owner, name) or f.fresh(name)
    if isinstance(owner, Above):
        found = f.names.defined(owner.instance.cls or owner.owner, name, owner.owner)
        return _of_definition(f, found, owner.instance, name)
    if type(owner) is Object:
        answer = _of_device(f, owner, name) if f.run.region is not None else None
        return answer if answer is not None else _of_object(f, owner, name)
    return f.fresh(name)


def _of_device(f: Following, owner: Object, name: str) -> Value | None:
    """Where a tensor lies that captured code asks for it: on the GPU, unless something else is known."""
    if name == "is_cuda":
        return Constant(owner.tensor is None or owner.tensor.device != "cpu")
    if name == "device" and (owner.tensor is not None or not owner.parts):
        device = f.fresh("device", "torch.device")
        device.parts["type"] = Constant((owner.tensor.device if owner.tensor is not None else "") or "cuda")
        return device
    return None


def _of_object(f: Following, owner: Object, name: str) -> Value:
    if name in owner.parts:
        part = owner.parts[name]
    else:
        cls = owner.cls or f.names.only(owner.typed)
        found = f.names.defined(cls, name) if cls is not None else None
        # A default that a class gives says nothing of an object that has been in use.
        informative = (
            (nodes.BY_DEF, nodes.BY_CLASS) if owner.before else (nodes.BY_DEF, nodes.BY_CLASS, nodes.BY_VALUE)
        )
        if found is not None and found[1][0] in informative:
            return _of_definition(f, found, owner, name)
        part = _from_init(f, owner, name) or _declared(f, owner, name)
    if f.run.region is not None and type(part) is Object:
        f.run.touched[id(part)] = part
    return part


def _of_definition(f: Following, found: tuple[ClassDef, Node] | None, owner: Object, name: str) -> Value:
    """An attribute that a class defines, asked of an instance."""
    if found is None:
        return f.fresh(name)
    cls, entry = found
    if entry[0] != nodes.BY_DEF:
        if owner.cls is not None and f.names.may_be_overridden(owner.cls, cls):
            return owner.part(name)
        return f.names.of_class(cls, name) or owner.part(name)
    made = f.names.function(cls.module, entry[1], None, cls)
    if made is None:
        return owner.part(name)
    plain = [node[1] for node, _ in entry[1][3] if node[0] == nodes.NAME]
    if "property" in plain:
        return f.call(made.of(owner), Arguments([], {}, []))
    return made if "staticmethod" in plain else made.of(owner)


def _from_init(f: Following, owner: Object, name: str) -> Value | None:
    """What `__init__` leaves in an attribute of an object that is there already, when that is one thing."""
    found = f.names.defined(owner.cls, "__init__") if owner.cls is not None and owner.before else None
    if found is None or found[1][0] != nodes.BY_DEF:
        return None
    init = f.names.function(found[0].module, found[1][1], None, found[0])
    if init is None:
        return None
    values = f.names.attributes_set(init).get(name, ())
    if len(values) != 1 or f.names.assigned_elsewhere(init, name):
        return None
    (assigned,) = values
    annotation = dict(init.code.annotations).get(assigned[1]) if assigned[0] == nodes.NAME else None
    if annotation is not None:
        given = Object(f"{owner.name}.{name}", True)
        f.annotate(init.module, annotation, given)
        owner.parts[name] = given
        return given
    value = f.names.made_by(init.module, assigned)
    if isinstance(value, ClassDef):
        made = Object(f"{owner.name}.{name}", True, value)
    elif isinstance(value, Outside):
        made = Object(f"{owner.name}.{name}", True, made_by=value.name)
        if value.name.startswith("torch.") and value.name.rpartition(".")[2] in _TENSORS:
            made.tensor = Tensor()
    else:
        return None
    owner.parts[name] = made
    return made


def _declared(f: Following, owner: Object, name: str) -> Value:
    """An attribute of which only the annotation in the class is known, if that."""
    part = owner.part(name)
    cls = owner.typed or owner.cls
    if cls is not None and type(part) is Object:
        found = f.names.annotation(cls, name)
        if found is not None:
            f.annotate(found[0].module, found[1], part)
    return part


_TENSORS = frozenset({"zeros", "ones", "empty", "full", "arange", "tensor", "rand", "randn", "randint"})
