"""Attributes of code around and inside a capture: what is known of an object's, and who defines it."""

from __future__ import annotations

from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import Arguments, Func, Object, Tensor, Value
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Binding, decorators_of, last_name
from coldfork.source.values.kinds import ClassRef, Const, External, ModuleRef, Super


def attribute(f: Following, owner: Value, name: str) -> Value:
    """An attribute of what an expression gave."""
    if isinstance(owner, External):
        return External(f"{owner.name}.{name}")
    if isinstance(owner, ModuleRef):
        return f.names.from_module(owner.name, name)
    if isinstance(owner, ClassRef):
        shared = f.names.globals_of(owner.module).parts.get(f"{owner.name}.{name}")
        return shared or _of_class(f, owner, name)
    if isinstance(owner, Super):
        return _of_super(f, owner, name)
    if type(owner) is Object:
        answer = _of_device(f, owner, name) if f.run.region is not None else None
        return answer if answer is not None else _of_object(f, owner, name)
    return f.fresh(name)


def _of_super(f: Following, owner: Super, name: str) -> Value:
    receiver = owner.receiver
    cls = receiver if isinstance(receiver, ClassRef) else receiver.cls if type(receiver) is Object else None
    found = f.names.defined(cls or owner.after, name, owner.after)
    if found is None:
        return f.fresh(name)
    if type(receiver) is Object:
        return _of_definition(f, *found, receiver, name)
    base, entry = found
    made = f.names.function(base.module, entry.payload, None, base) if entry.how == nodes.BY_DEF else None
    if made is None:
        return f.fresh(name)
    return made.of(cls) if cls is not None and "classmethod" in _decorators(entry) else made


def _of_class(f: Following, cls: ClassRef, name: str) -> Value:
    """An attribute of a class: a class method is bound to it."""
    value = f.names.of_class(cls, name) or f.fresh(name)
    found = f.names.defined(cls, name) if isinstance(value, Func) else None
    if isinstance(value, Func) and found is not None and "classmethod" in _decorators(found[1]):
        return value.of(cls)
    return value


def _decorators(entry: Binding) -> set[str | None]:
    """The decorators of a definition that are plain names."""
    decorators = decorators_of(entry.payload) if entry.how == nodes.BY_DEF else ()
    return {last_name(node) for node, _ in decorators if node[0] == nodes.NAME}


def _of_device(f: Following, owner: Object, name: str) -> Value | None:
    """Where a tensor lies that captured code asks for it: on the GPU, unless something else is known."""
    if name == "is_cuda":
        return Const(owner.tensor is None or owner.tensor.device != "cpu")
    if name == "device" and (owner.tensor is not None or not owner.parts):
        device = f.fresh(name, "torch.device")
        device.parts["type"] = Const((owner.tensor.device if owner.tensor is not None else "") or "cuda")
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
        if found is not None and found[1].how in informative:
            return _of_definition(f, *found, owner, name)
        part = _from_init(f, owner, name) or _declared(f, owner, name)
    if f.run.region is not None and type(part) is Object:
        f.run.touched[id(part)] = part
    return part


def _of_definition(f: Following, cls: ClassRef, entry: Binding, owner: Object, name: str) -> Value:
    """An attribute that a class defines, asked of an instance."""
    if entry.how != nodes.BY_DEF:
        if owner.cls is not None and f.names.may_be_overridden(owner.cls, cls):
            return owner.part(name)
        return f.names.of_class(cls, name) or owner.part(name)
    made = f.names.function(cls.module, entry.payload, None, cls)
    if made is None:
        return owner.part(name)
    decorators = _decorators(entry)
    if "property" in decorators:
        return f.call(made.of(owner), Arguments([], {}, []))
    if "classmethod" in decorators:
        return made.of(owner.cls or cls)
    return made if "staticmethod" in decorators else made.of(owner)


def _from_init(f: Following, owner: Object, name: str) -> Value | None:
    """What `__init__` leaves in an attribute of an object that is there already, when that is one thing."""
    found = f.names.defined(owner.cls, "__init__") if owner.cls is not None and owner.before else None
    if found is None:
        return None
    cls, entry = found
    init = f.names.function(cls.module, entry.payload, None, cls) if entry.how == nodes.BY_DEF else None
    if init is None:
        return None
    values = f.names.attributes_set(init).get(name, ())
    if len(values) != 1 or f.names.assigned_elsewhere(init, name):
        return None
    (assigned,) = values
    name_of_it = last_name(assigned) if assigned[0] == nodes.NAME else None
    annotation = dict(init.code.annotations).get(name_of_it) if name_of_it is not None else None
    if annotation is not None:
        given = Object(f"{owner.name}.{name}", True)
        f.annotate(init.module, annotation, given)
        owner.parts[name] = given
        return given
    value = f.names.made_by(init.module, assigned)
    if isinstance(value, ClassRef):
        made = Object(f"{owner.name}.{name}", True, value)
    elif isinstance(value, External):
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
            declaring, annotation = found
            f.annotate(declaring.module, annotation, part)
    return part


_TENSORS = frozenset({"zeros", "ones", "empty", "full", "arange", "tensor", "rand", "randn", "randint"})
