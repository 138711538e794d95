"""How much a value depends on the batch: a table of constants does not, what was handed in does."""

from __future__ import annotations

from coldfork.source.capture.device.synchronisation import FACTORIES, SHAPE
from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import ClassDef, Constant, Func, Inside, Object, Outside
from coldfork.source.capture.state import DEPENDENT, FIXED, MAYBE
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node

_COUNTING = frozenset({"len", "isinstance", "hasattr", "type", "id", "range", "max", "min"})


def level(f: Following, node: Node | None) -> int:
    """How much an expression depends on the batch."""
    if node is None:
        return FIXED
    op = node[0]
    if op in (nodes.CONST, nodes.LAMBDA):
        return FIXED
    if op == nodes.NAME:
        return _of_name(f, node[1])
    if op == nodes.ATTR:
        return FIXED if node[2] in SHAPE else level(f, node[1])
    if op == nodes.CALL:
        return _of_call(f, node)
    if op == nodes.INDEX:
        return level(f, node[1])
    return max((level(f, part) for part in _parts(node)), default=FIXED)


def _parts(node: Node) -> list[Node]:
    """The expressions inside one."""
    found: list[Node] = []
    pending: list[object] = list(node[1:])
    while pending:
        part = pending.pop()
        if type(part) is tuple and part:
            if (
                isinstance(part[0], int)
                and not isinstance(part[0], bool)
                and part[0] < nodes.EXPR
                and len(part) > 1
            ):
                if not all(isinstance(one, int) for one in part):
                    found.append(part)
            else:
                pending.extend(part)
    return found


def _of_name(f: Following, name: str) -> int:
    env = f.frame.env.holder(name)
    if env is None:
        return FIXED
    value = env.names[name]
    if isinstance(value, (Constant, Func, ClassDef, Outside, Inside)):
        return FIXED
    if type(value) is Object and value is env.own:
        return env.levels.get(name, MAYBE)
    if env is not f.frame.env:
        return DEPENDENT  # handed in from around
    return env.levels.get(name, FIXED)


def _of_call(f: Following, node: Node) -> int:
    callee = node[1]
    arguments = [*node[2], *(value for _, value in node[3])]
    if callee[0] == nodes.NAME and callee[1] in _COUNTING and f.frame.env.holder(callee[1]) is None:
        return FIXED
    if callee[0] == nodes.ATTR:
        if callee[2] in SHAPE:
            return FIXED
        if callee[2] in FACTORIES and callee[1][0] == nodes.NAME and _is_torch(f, callee[1]):
            return FIXED
        receiver = level(f, callee[1])
        if callee[2].startswith("new_"):
            return FIXED
        return max([receiver, *(level(f, one) for one in arguments)])
    return max([level(f, one) for one in arguments], default=FIXED)


def _is_torch(f: Following, node: Node) -> bool:
    return f.evaluate(node) == Outside("torch")
