"""Bind what captured code assigns: names, attributes, items."""

from __future__ import annotations

from coldfork.source.capture.device import device_work
from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import ANY, Object, Value
from coldfork.source.capture.statements import lazy_initialisation
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.quoting import text_of
from coldfork.source.values.kinds import Const, ModuleRef


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
    op = target[0]
    env = f.frame.env
    if op == nodes.TO_NAME:
        _, name = target
        if name in env.globals:
            shared = f.names.globals_of(f.frame.func.module)
            lazy_initialisation.store(f, shared, name, value)
        else:
            bound = env.target(name)
            bound.names[name] = value
            bound.levels[name] = level
    elif op == nodes.TO_TUPLE:
        _, targets = target
        for one, part in _starred(f, targets, value):
            assign(f, one, part, level)
            targets = ()
        for index, one in enumerate(targets):
            part = value.part(f"[{index}]") if type(value) is Object else f.fresh("item")
            assign(f, one, part, level)
    elif op == nodes.TO_STAR:
        _, starred = target
        assign(f, starred, f.fresh("rest"), level)
    elif op == nodes.TO_ATTR:
        _, expression, name, _ = target
        owner = f.evaluate(expression)
        if isinstance(owner, ModuleRef):
            module = f.names.module(owner.name)
            owner = f.names.globals_of(module) if module is not None else owner
        if type(owner) is Object:
            lazy_initialisation.store(f, owner, name, value)
    elif op == nodes.TO_INDEX:
        _, expression, index, _ = target
        owner, index_value = f.evaluate(expression), f.evaluate(index)
        if type(owner) is Object:
            key = f"[{index_value.value!r}]" if isinstance(index_value, Const) else ANY
            if owner.tensor is not None and f.run.listeners:
                text = f"{text_of(expression)}[...] = ..."
                device_work.written(f, owner, max(level, f.level(expression)), text)
            lazy_initialisation.store(f, owner, key, value)
