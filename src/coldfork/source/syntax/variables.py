"""Environment variables that plain statements set, and other settings that are treated alike."""

from __future__ import annotations

from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Node

Environment = dict[str, str | None]
"""The texts of variables; None for a variable that is set to something other than a literal."""
#: The variables that restrict the devices of a process; a driver reads them when it is woken.
VISIBILITY = frozenset(
    {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"}
)

#: The key for torch's default device, which is recorded like a variable.
DEFAULT_DEVICE = "torch.get_default_device()"

#: The key for the start method of processes, which is recorded like a variable.
START_METHOD = "multiprocessing.get_start_method()"
#: The key for the line that first used the start method, after which it cannot be set.
METHOD_IN_USE = "multiprocessing.get_start_method(allow_none=True)"


def sets_variables(body: Block) -> bool:
    """Return True if a plain statement of a body sets a variable."""
    changed: Environment = {}
    for node in body:
        set_by(node, changed)
    return bool(changed)


def set_by(node: Node, current: Environment) -> None:
    """Update the environment with the variables that one statement sets."""
    if node[0] == nodes.ASSIGN:
        _, _, _, targets, value = node
        for target in targets:
            match target:
                case (nodes.TO_INDEX, owner, (nodes.CONST, name), _) if _is_environ(owner):
                    current[str(name)] = _text(value)
    elif node[0] == nodes.EXPR:
        _, _, _, expression = node
        match expression:
            case (
                nodes.CALL,
                (nodes.ATTR, owner, "setdefault", _),
                ((nodes.CONST, name), value),
                *_,
            ) if _is_environ(owner):
                current.setdefault(str(name), _text(value))
            case (
                nodes.CALL,
                (nodes.ATTR, (nodes.NAME, "torch", _), "set_default_device", _)
                | (nodes.NAME, "set_default_device", _),
                (given,),
                *_,
            ):
                current[DEFAULT_DEVICE] = _device(given)
            case (
                nodes.CALL,
                (nodes.ATTR, _, "set_start_method", _) | (nodes.NAME, "set_start_method", _),
                (given, *_),
                *_,
            ):
                current[START_METHOD] = _text(given)


def _is_environ(node: Node) -> bool:
    match node:
        case (nodes.ATTR, _, "environ", _) | (nodes.NAME, "environ", _):
            return True
    return False


def _device(node: Node) -> str | None:
    """Return the name of a device that a constant gives."""
    match node:
        case (nodes.CONST, str(text)):
            return f"torch.device({text})"
        case (nodes.CALL, (nodes.ATTR, _, "device", _), ((nodes.CONST, str(text)),), *_):
            return f"torch.device({text})"
    return None


def _text(node: Node) -> str | None:
    """Return the text that a variable is set to, if it is a constant."""
    match node:
        case (nodes.CONST, str(text)):
            return text
        case (nodes.CALL, (nodes.NAME, "str", _), ((nodes.CONST, value),), *_):
            return str(value)
    return None
