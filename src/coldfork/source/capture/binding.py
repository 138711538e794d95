"""Bind what captured code assigns: names, attributes, items."""

from __future__ import annotations

from coldfork.source.capture import lazy_initialisation
from coldfork.source.capture.device import device_work
from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import ANY, Constant, Inside, Object, Value
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.quoting import text_of


def assign(f: Following, target: Node, value: Value, level: int) -> None:
    """Bind a name, an attribute or an item."""
    op = target[0]
    env = f.frame.env
    if op == nodes.TO_NAME:
        if target[1] in env.globals:
            shared = f.names.globals_of(f.frame.func.module)
            lazy_initialisation.store(f, shared, target[1], value)
        else:
            env.names[target[1]] = value
            env.levels[target[1]] = level
    elif op == nodes.TO_TUPLE:
        for index, one in enumerate(target[1]):
            part = value.part(f"[{index}]") if type(value) is Object else f.fresh("item")
            assign(f, one, part, level)
    elif op == nodes.TO_STAR:
        assign(f, target[1], f.fresh("rest"), level)
    elif op == nodes.TO_ATTR:
        owner = f.evaluate(target[1])
        if isinstance(owner, Inside):
            module = f.names.module(owner.name)
            owner = f.names.globals_of(module) if module is not None else owner
        if type(owner) is Object:
            lazy_initialisation.store(f, owner, target[2], value)
    elif op == nodes.TO_INDEX:
        owner, index_value = f.evaluate(target[1]), f.evaluate(target[2])
        if type(owner) is Object:
            key = f"[{index_value.value!r}]" if isinstance(index_value, Constant) else ANY
            if owner.tensor is not None and f.run.listeners:
                text = f"{text_of(target[1])}[...] = ..."
                device_work.written(f, owner, max(level, f.level(target[1])), text)
            lazy_initialisation.store(f, owner, key, value)
