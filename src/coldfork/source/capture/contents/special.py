"""Items of objects whose class says itself what an item is, and of dictionaries of attributes."""

from __future__ import annotations

from coldfork.source.capture.contents import attributes, stores
from coldfork.source.capture.following import Following
from coldfork.source.capture.history import choices
from coldfork.source.capture.history.keys import key_of
from coldfork.source.capture.objects import Arguments, Func, Object, Value
from coldfork.source.capture.state import DEPENDENT, Read
from coldfork.source.values.kinds import Const


def item(f: Following, owner: Object, index: Value, text: str) -> Value:
    """What `container[key]` gives."""
    of_attributes = _of_attributes(owner, index)
    if of_attributes is not None:
        return attributes.attribute(f, *of_attributes)
    method = _method(f, owner, "__getitem__")
    if method is not None:
        return _call(f, method, [index])
    method = _method(f, owner, "__missing__")
    if method is None:
        return stores.item(f, owner, index, text)
    missing = method
    key = key_of(f, index)
    there = stores.holds_item(f, owner, key)
    reads = [Read(owner, key, owner.parts[key] if there else None)]

    def look_up() -> Value:
        return stores.item(f, owner, index, text) if there else _call(f, missing, [index])

    return choices.go(f, choices.Site(*missing.place, text), bool(there), reads, look_up)


def is_in(f: Following, index: Value, owner: Object) -> bool | None:
    """Whether `key in container`, if that is known."""
    of_attributes = _of_attributes(owner, index)
    if of_attributes is not None:
        holder, name = of_attributes
        choices.note(f, holder, name, holder.parts.get(name))
        return attributes.holds_attribute(f, holder, name)
    method = _method(f, owner, "__contains__")
    if method is not None:
        return f.truth(_call(f, method, [index]))
    return stores.is_in(f, index, owner)


def put(f: Following, owner: Object, index: Value, value: Value) -> None:
    """`container[key] = value`."""
    of_attributes = _of_attributes(owner, index)
    method = _method(f, owner, "__setitem__")
    if of_attributes is not None:
        stores.store(f, *of_attributes, value)
    elif method is not None:
        _call(f, method, [index, value])
    else:
        stores.store(f, owner, key_of(f, index), value)


def _of_attributes(owner: Object, index: Value) -> tuple[Object, str] | None:
    """Whose attribute an item of `object.__dict__` is."""
    if owner.made_by == attributes.DICTIONARY and owner.origin is not None and isinstance(index, Const):
        return owner.origin, str(index.value)
    return None


def _method(f: Following, owner: Object, name: str) -> Func | None:
    found = f.names.of_class(owner.cls, name) if owner.cls is not None else None
    return found.of(owner) if isinstance(found, Func) else None


def _call(f: Following, method: Func, arguments: list[Value]) -> Value:
    return f.call(method, Arguments(arguments, {}, [DEPENDENT] * len(arguments)))
