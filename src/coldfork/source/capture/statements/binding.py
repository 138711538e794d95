"""Bind what captured code assigns: names, attributes, items."""

from __future__ import annotations

from coldfork.source.capture.contents.special import put
from coldfork.source.capture.contents.stores import store
from coldfork.source.capture.device import device_work
from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import Func, Object, Value
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.quoting import text_of
from coldfork.source.values.kinds import ClassRef, ModuleRef

#: The index `[:]`.
_ALL = (nodes.SLICE, ())


def _starred(f: Following, targets: tuple[Node, ...], value: Value) -> list[tuple[Node, Value]]:
    """Targets of which one takes the rest, with what each gets; nothing where that cannot be told."""
    elements = value.elements() if type(value) is Object else None
    at = next((index for index, target in enumerate(targets) if target[0] == nodes.TO_STAR), None)
    if at is None or elements is None or len(elements) < len(targets) - 1:
        return []
    behind = len(elements) - (len(targets) - at - 1)
    rest = f.fresh("rest")
    rest.kind, rest.keys = "list", tuple(f"[{index}]" for index in range(behind - at))
    rest.parts.update(zip(rest.keys, elements[at:behind], strict=True))
    _, starred = targets[at]
    taking = (*targets[:at], starred, *targets[at + 1 :])
    return list(zip(taking, [*elements[:at], rest, *elements[behind:]], strict=True))


def assign(f: Following, target: Node, value: Value, level: int) -> None:
    """Bind a name, an attribute or an item."""
    match target:
        case (nodes.TO_NAME, name):
            _to_name(f, name, value, level)
        case (nodes.TO_TUPLE, targets):
            _to_several(f, targets, value, level)
        case (nodes.TO_STAR, starred):
            assign(f, starred, f.fresh("rest"), level)
        case (nodes.TO_ATTR, expression, name, _):
            place = _attribute(f, f.evaluate(expression), name)
            if place is not None:
                store(f, *place, value)
        case (nodes.TO_INDEX, expression, index, _):
            _to_item(f, expression, index, value, level)


def _to_name(f: Following, name: str, value: Value, level: int) -> None:
    env = f.frame.env
    if name in env.globals:
        store(f, f.names.globals_of(f.frame.func.module), name, value)
        return
    bound = env.target(name)
    bound.names[name] = value
    bound.levels[name] = level
    if bound is env:
        f.frame.sources.pop(name, None)
    else:
        device_work.bound(f, value)


def _to_several(f: Following, targets: tuple[Node, ...], value: Value, level: int) -> None:
    starred = _starred(f, targets, value)
    for one, part in starred:
        assign(f, one, part, level)
    for index, one in enumerate(targets if not starred else ()):
        part = value.part(f"[{index}]") if type(value) is Object else f.fresh("item")
        assign(f, one, part, level)


def _attribute(f: Following, owner: Value, name: str) -> tuple[Object, str] | None:
    """Where an attribute is kept, which modules, classes and functions have too."""
    if isinstance(owner, ModuleRef):
        module = f.names.module(owner.name)
        return (f.names.globals_of(module), name) if module is not None else None
    if isinstance(owner, ClassRef):
        return f.names.globals_of(owner.module), f"{owner.name}.{name}"
    if isinstance(owner, Func):
        return f.names.attributes_of(owner), name
    return (owner, name) if type(owner) is Object else None


def _to_item(f: Following, expression: Node, index: Node, value: Value, level: int) -> None:
    owner, key = f.evaluate(expression), f.evaluate(index)
    if type(owner) is not Object:
        return
    if owner.tensor is None:
        put(f, owner, key, value)
        return
    everything = index in (_ALL, (nodes.CONST, ...))
    device_work.written(f, owner, level, f"{text_of(expression)}[...] = ...", whole=everything)
