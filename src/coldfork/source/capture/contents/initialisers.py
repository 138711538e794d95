"""What `__init__` leaves in the attributes of an object, read from its source."""

from __future__ import annotations

import re

from coldfork.source.capture.objects import Func
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.walk import walk


def attributes_set(init: Func) -> dict[str, list[Node]]:
    """The expressions that a method assigns to attributes of its object."""
    found: dict[str, list[Node]] = {}
    names = init.code.parameters.positional
    own = (nodes.NAME, names[0]) if names else None
    for node in walk(init.code.block):
        match node:
            case (nodes.ASSIGN, _, _, targets, value):
                pass
            case (nodes.ANNOTATED, _, _, target, _, value) if value is not None:
                targets = (target,)
            case _:
                continue
        for target in targets:
            match target:
                case (nodes.TO_ATTR, holder, name, _) if holder[:2] == own:
                    found.setdefault(name, []).append(value)
    return found


def assigned_elsewhere(init: Func, name: str) -> bool:
    """True when the file of a method assigns an attribute of that name more than once."""
    return len(re.findall(rb"\.%b\b[ \t]*(?::[^=\n]+)?=[^=]" % name.encode(), init.module.source)) > 1
