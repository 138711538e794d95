"""How much a value depends on the batch: a table of constants does not, what was handed in does."""

from __future__ import annotations

from coldfork.source.capture.device.synchronisation import FACTORIES, SHAPE
from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import Func, Object
from coldfork.source.capture.state import DEPENDENT, FIXED, MAYBE
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node, arguments_of
from coldfork.source.syntax.walk import children
from coldfork.source.values.kinds import ClassRef, Const, External, ModuleRef

#: What gives a tensor with the values that it is to have, rather than one that is yet to be filled.
_CONSTANTS = frozenset(
    {"torch.arange", "torch.eye", "torch.linspace", "torch.ones", "torch.full", "torch.randn", "torch.rand"}
    | {"torch.nn.Parameter", "torch.tril_indices", "torch.triu_indices"}
)
_COUNTING = frozenset({"len", "isinstance", "hasattr", "type", "id", "range", "max", "min"})


def level(f: Following, node: Node | None) -> int:
    """How much an expression depends on the batch."""
    if node is None:
        return FIXED
    opcode = node[0]
    if opcode == nodes.LAMBDA:
        return FIXED
    if opcode == nodes.NAME:
        _, name, _ = node
        return _of_name(f, name)
    if opcode == nodes.ATTR:
        _, owner, attribute, _ = node
        if attribute in SHAPE or _is_constant(f, owner, attribute):
            return FIXED
        return level(f, owner)
    if opcode == nodes.CALL:
        return _of_call(f, node)
    if opcode == nodes.INDEX:
        _, owner, _, _ = node
        return level(f, owner)
    return max((level(f, part) for part in children(node)), default=FIXED)


def _is_constant(f: Following, node: Node, attribute: str) -> bool:
    """True for a tensor of an object's own that was made with values, to which nothing was written since."""
    if node[0] != nodes.NAME:
        return False
    _, name, _ = node
    env = f.frame.env.holder(name)
    owner = env.names[name] if env is not None else None
    if type(owner) is not Object or owner.before or owner is not f.frame.env.own:
        return False
    part = owner.parts.get(attribute) if attribute in owner.given else None
    return type(part) is Object and part.made_by in _CONSTANTS and part.data[0] == FIXED


def _of_name(f: Following, name: str) -> int:
    env = f.frame.env.holder(name)
    if env is None:
        held = f.names.of_module(f.frame.func.module, name)
        return held.memory.data[0] if type(held) is Object else FIXED
    value = env.names[name]
    if isinstance(value, (Const, Func, ClassRef, External, ModuleRef)):
        return FIXED
    if type(value) is Object and value is env.own:
        return env.levels.get(name, MAYBE)
    if env is not f.frame.env:
        return DEPENDENT  # handed in from around
    return env.levels.get(name, FIXED)


def _of_call(f: Following, node: Node) -> int:
    _, callee, *_ = node
    if callee[0] == nodes.NAME:
        _, name, _ = callee
        if name in _COUNTING and f.frame.env.holder(name) is None:
            return FIXED
    elif callee[0] == nodes.ATTR:
        _, owner, method, _ = callee
        if method in SHAPE or (method in FACTORIES and owner[0] == nodes.NAME and _is_torch(f, owner)):
            return FIXED
        receiver = level(f, owner)
        if method.startswith("new_"):
            return FIXED
        return max(receiver, of_arguments(f, node))
    return of_arguments(f, node)


def of_arguments(f: Following, node: Node) -> int:
    """How much the arguments of a call depend on the batch."""
    return max([level(f, one) for one in arguments_of(node)], default=FIXED)


def _is_torch(f: Following, node: Node) -> bool:
    return f.evaluate(node) == External("torch")
