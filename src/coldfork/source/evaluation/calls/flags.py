"""Functions that choose how processes start by a flag which does not know that the driver is awake."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from coldfork.source.program.module import Module
from coldfork.source.program.program import Program
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Binding, Code, Node, code_of, last_name
from coldfork.source.syntax.walk import walk

#: What is set once a framework has made a context, and not when the driver was woken by somebody else.
_FLAGS = {"is_initialized": ("cuda", "xpu"), "_is_in_bad_fork": ("cuda", "xpu")}
_CHOOSING = frozenset({"set_start_method", "get_context"})
_METHODS = frozenset({"fork", "spawn", "forkserver"})
_VARIABLE = re.compile(r"(?:MULTIPROC|START)_METHOD")
#: What tells of the driver as well, or is true wherever there is a device.
_KNOWING = re.compile(r"driver|cuinit|getcount|get_count|is_available|device_count", re.IGNORECASE)


class Asked(NamedTuple):
    """A call that asks a flag."""

    line: int
    flag: str


def asked_by(program: Program, module: Module, function: Code) -> Asked | None:
    """The flag by which a function chooses; None where it does not, or asks for more."""
    inside = list(walk(function.block))
    if not any(map(_chooses, inside)):
        return None
    idle = {call for node in inside for call in _idle(node)}
    calls = [node for node in inside if node[0] == nodes.CALL and nodes.place_of(node) not in idle]
    if any(_KNOWING.search(last_name(nodes.called(call)) or "") for call in calls):
        return None
    asked = (found for call in calls if (found := _asked(program, module, call)) is not None)
    return next(asked, None)


def _chooses(node: Node) -> bool:
    match node:
        case (nodes.CALL, function, *_):
            return last_name(function) in _CHOOSING
        case (nodes.TO_INDEX, owner, (nodes.CONST, str(variable)), _):
            return last_name(owner) == "environ" and _VARIABLE.search(variable) is not None
        case (nodes.RETURN, _, (nodes.CONST, method), *_):
            return method in _METHODS
        case (nodes.IFEXP, _, (nodes.CONST, one), (nodes.CONST, other), *_):
            return one in _METHODS and other in _METHODS
    return False


def _idle(node: Node) -> Iterator[tuple[int, int, int]]:
    """The places of calls in a test that decides about calls into PyTorch, and about nothing else."""
    if node[0] != nodes.IF:
        return
    _, _, test, body, orelse, _ = node
    if all(map(_calls_torch, (*body, *orelse))):
        yield from (nodes.place_of(one) for one in walk((test,)) if one[0] == nodes.CALL)


def _calls_torch(statement: Node) -> bool:
    match statement:
        case (nodes.EXPR, _, _, (nodes.CALL, _, *_) as call):
            function = nodes.called(call)
            while function[0] == nodes.ATTR:
                _, function, *_ = function
            return last_name(function) == "torch"
    return False


def _asked(program: Program, module: Module, call: Node) -> Asked | None:
    """The flag that a call asks, by itself or through a function that asks nothing else."""
    line, _, _ = nodes.place_of(call)
    function = nodes.called(call)
    flag = _flag(function)
    if not flag and function[0] == nodes.NAME:
        flag = _through(program, module, str(last_name(function)))
    return Asked(line, flag) if flag else None


def _flag(function: Node) -> str:
    match function:
        case (nodes.ATTR, (nodes.ATTR, _, device, _), name, _) if device in _FLAGS.get(name, ()):
            return f"torch.{device}.{name}()"
    return ""


def _through(program: Program, module: Module, name: str) -> str:
    """The flag that a function of the checked code returns."""
    for entry in module.summary.binds.get(name, ()):
        how, payload, _line, _guards = Binding._make(entry)
        if how == nodes.BY_FROM:
            base, level, imported = payload
            source = program.module(module.absolute(base, level) or "")
            return "" if source is None or source is module else _through(program, source, imported)
        if how == nodes.BY_DEF and (code := _code(program, module, payload)) is not None:
            calls = [node for node in walk(code.block) if node[0] == nodes.CALL]
            if any(_KNOWING.search(last_name(nodes.called(call)) or "") for call in calls):
                return ""
            return next(filter(None, (_flag(nodes.called(call)) for call in calls)), "")
    return ""


def _code(program: Program, module: Module, definition: Node) -> Code | None:
    _, line, _name, _decorators, _header, raw = definition
    return program.code_at(module, line) if raw is None else code_of(raw)
