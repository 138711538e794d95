"""Attributes of code around and inside a capture: what is known of an object's, and who defines it."""

from __future__ import annotations

from coldfork.source.capture.contents.initialisers import assigned_elsewhere, attributes_set
from coldfork.source.capture.contents.stores import raise_absent, store
from coldfork.source.capture.following import Following
from coldfork.source.capture.history import choices
from coldfork.source.capture.objects import Arguments, Func, Object, Tensor, Value
from coldfork.source.capture.state import FIXED, Read
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Binding, decorators_of, last_name
from coldfork.source.values.kinds import ClassRef, Const, External, ModuleRef, Super


def attribute(f: Following, owner: Value, name: str) -> Value:
    """An attribute of what an expression gave."""
    if isinstance(owner, External):
        return External(f"{owner.name}.{name}")
    if isinstance(owner, ModuleRef):
        return _of_module(f, owner, name)
    if isinstance(owner, ClassRef):
        return _of_class(f, owner, name)
    if isinstance(owner, Func):
        return _looked_up(f, f.names.attributes_of(owner), name)
    if isinstance(owner, Super):
        return _of_super(f, owner, name)
    if type(owner) is Object:
        answer = _of_device(f, owner, name) if f.run.region is not None else None
        return answer if answer is not None else _of_object(f, owner, name)
    return f.fresh(name)


def _of_module(f: Following, owner: ModuleRef, name: str) -> Value:
    value = f.names.from_module(owner.name, name)
    module = f.names.module(owner.name)
    if module is not None and isinstance(value, (Const, Object)):
        choices.note(f, f.names.globals_of(module), name, value)
        f.run.touch(value)
    return value


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
    shared = class_place(f, cls, name)
    if shared is not None:
        return _looked_up(f, *shared)
    value = f.names.of_class(cls, name) or f.fresh(name)
    found = f.names.defined(cls, name) if isinstance(value, Func) else None
    if isinstance(value, Func) and found is not None and "classmethod" in _decorators(found[1]):
        return value.of(cls)
    return value


def _decorators(entry: Binding) -> set[str | None]:
    """The decorators of a definition that are plain names."""
    decorators = decorators_of(entry.payload) if entry.how == nodes.BY_DEF else ()
    return {last_name(node) for node, _ in decorators if node[0] in (nodes.NAME, nodes.ATTR)}


def _of_device(f: Following, owner: Object, name: str) -> Value | None:
    """Where a tensor lies that captured code asks for it: on the GPU, unless something else is known."""
    if name == "is_cuda":
        return Const(owner.tensor is None or owner.tensor.device != "cpu")
    if name == "device" and (owner.tensor is not None or not owner.parts):
        device = f.fresh(name, "torch.device")
        device.parts["type"] = Const((owner.tensor.device if owner.tensor is not None else "") or "cuda")
        return device
    return None


def class_place(f: Following, cls: ClassRef, name: str) -> tuple[Object, str] | None:
    """Where the value lies that a class, or one that it derives from, holds under a name."""
    for one in f.names.order(cls):
        if not isinstance(one, ClassRef):
            return None
        shared, key = f.names.globals_of(one.module), f"{one.name}.{name}"
        if key in shared.parts:
            return shared, key
        entries = f.names.held(one, name)
        if entries is not None:
            if any(entry.how != nodes.BY_VALUE for entry in entries) or f.names.is_enum(one):
                return None
            value = f.names.of_class(one, name)
            if value is None:
                return None
            shared.parts[key] = value
            return shared, key
    return None


def _looked_up(f: Following, holder: Object, key: str) -> Value:
    """What is held under a key, which is noted."""
    value = holder.part(key)
    choices.note(f, holder, key, value)
    f.run.touch(value)
    return value


def _of_object(f: Following, owner: Object, name: str) -> Value:
    choices.note(f, owner, name, owner.parts[name] if name in owner.given else None)
    if name == "__class__" and owner.cls is not None:
        return owner.cls
    if name == "__dict__":
        items = f.fresh(f"{owner.name}.__dict__", DICTIONARY)
        items.origin = owner
        return items
    if owner.tensor is not None and name in _VIEWS:
        view = f.fresh(name)
        view.tensor, view.base = owner.tensor, owner
        f.run.touch(owner)
        return view
    if name in owner.parts:
        part = owner.parts[name]
        computing = _computing(f, owner, name)
        if computing is not None:
            choices.go(
                f, choices.Site(*computing.place, name), "kept", [Read(owner, name, part)], lambda: part
            )
    else:
        cls = owner.cls or f.names.only(owner.typed)
        found = f.names.defined(cls, name) if cls is not None else None
        # A default that a class gives says nothing of an object that has been in use.
        informative = (
            (nodes.BY_DEF, nodes.BY_CLASS) if owner.before else (nodes.BY_DEF, nodes.BY_CLASS, nodes.BY_VALUE)
        )
        if found is not None and found[1].how in informative:
            return _of_definition(f, *found, owner, name)
        computing = _computing(f, owner, name) if found is None else None
        if computing is not None:
            return _cached(f, computing, owner, name)
        if found is None or owner.before:
            absent = not owner.before or name in owner.gone
            missing = False if absent and owner.cls is not None else None
            raise_absent(f, missing, f"{owner.name}.{name}", "AttributeError")
        part = _from_init(f, owner, name) or _declared(f, owner, name)
    f.run.touch(part)
    return part


def _of_definition(f: Following, cls: ClassRef, entry: Binding, owner: Object, name: str) -> Value:
    """An attribute that a class defines, asked of an instance."""
    if entry.how != nodes.BY_DEF:
        if owner.cls is not None and f.names.may_be_overridden(owner.cls, cls):
            return owner.part(name)
        default = _default(f, cls, name, owner)
        if default is not None:
            return default
        shared = class_place(f, cls, name)
        if shared is not None:
            return _looked_up(f, *shared)
        return f.names.of_class(cls, name) or owner.part(name)
    made = f.names.function(cls.module, entry.payload, None, cls)
    if made is None:
        return owner.part(name)
    decorators = _decorators(entry)
    if "cached_property" in decorators:
        return _cached(f, made.of(owner), owner, name)
    if "property" in decorators:
        return f.call(made.of(owner), Arguments([], {}, []))
    if "classmethod" in decorators:
        return made.of(owner.cls or cls)
    return made if "staticmethod" in decorators else made.of(owner)


def _computing(f: Following, owner: Object, name: str) -> Func | None:
    """What computes an attribute that is asked for and not there yet: a cached property, or `__getattr__`."""
    if owner.cls is None:
        return None
    found = f.names.defined(owner.cls, name)
    if found is None and not owner.before:
        method = f.names.of_class(owner.cls, "__getattr__")
        return method.of(owner) if isinstance(method, Func) else None
    if found is None or "cached_property" not in _decorators(found[1]):
        return None
    cls, entry = found
    made = f.names.function(cls.module, entry.payload, None, cls)
    return made.of(owner) if made is not None else None


def _cached(f: Following, function: Func, owner: Object, name: str) -> Value:
    """An attribute that is computed when it is asked for and not there yet."""
    reads = [Read(owner, name, None)]
    dynamic = function.name == "__getattr__"
    given: list[Value] = [Const(name)] if dynamic else []

    def compute() -> Value:
        value = f.call(function, Arguments(given, {}, [FIXED] * len(given)))
        if not dynamic:
            store(f, owner, name, value)
        return value

    return choices.go(f, choices.Site(*function.place, f"{owner.name}.{name}"), "compute", reads, compute)


def _default(f: Following, cls: ClassRef, name: str, owner: Object) -> Value | None:
    """What the field of a data class holds in an object that was made without it."""
    if not f.names.is_data_class(cls):
        return None
    found = f.names.defined(cls, name)
    match found:
        case (_, (nodes.BY_VALUE, (nodes.CALL, _, _, keywords, *_), *_)):
            for keyword, factory in keywords:
                if keyword == "default_factory":
                    made = f.fresh(name)
                    made.kind = last_name(factory) or ""
                    made.kind = made.kind if made.kind in ("list", "dict", "set") else ""
                    made.keys = () if made.kind else None
                    owner.parts[name] = made
                    return made
                match keyword, factory:
                    case "default", (nodes.CONST, value):
                        return Const(value)
    return None


def _from_init(f: Following, owner: Object, name: str) -> Value | None:
    """What `__init__` leaves in an attribute of an object that is there already, when that is one thing."""
    found = f.names.defined(owner.cls, "__init__") if owner.cls is not None and owner.before else None
    if found is None:
        return None
    cls, entry = found
    init = f.names.function(cls.module, entry.payload, None, cls) if entry.how == nodes.BY_DEF else None
    if init is None:
        return None
    values = attributes_set(init).get(name, ())
    if len(values) != 1 or assigned_elsewhere(init, name):
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


def holds_attribute(f: Following, owner: Object, name: str) -> bool | None:
    """Whether an object has an attribute, if that is known."""
    if name in owner.given and name in owner.parts:
        return True
    if name in owner.gone:
        return False
    cls = owner.cls
    if owner.before or cls is None or f.names.member(cls, name) is not None:
        return None
    foreign = any(not isinstance(base, ClassRef) and not f.names.is_bare(base) for base in f.names.order(cls))
    return None if foreign or name in owner.parts else False


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


#: What made a dictionary of attributes.
DICTIONARY = "__dict__"
#: Attributes of a tensor that show its memory.
_VIEWS = frozenset({"data", "T", "mT", "H", "mH", "real", "imag"})
_TENSORS = frozenset({"zeros", "ones", "empty", "full", "arange", "tensor", "rand", "randn", "randint"})
