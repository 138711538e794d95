"""Call the functions of a module that start processes, or say how they start, as anybody might call them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Class, Node, last_name
from coldfork.source.syntax.outline import lines_about_processes
from coldfork.source.values.kinds import UNKNOWN, ClassRef, Function, Instance, Value


class _Offered(NamedTuple):
    """A function that a module offers, by the node that defines it."""

    node: Node
    owner: Node | None
    """The class that it is a method of."""


def call(ev: Interpreter, frame: Frame) -> None:
    """Call each of them with unknown arguments, as if no other had been called before."""
    mark, kept = ev.journal.mark(), dict(ev.environment.values)
    sites, edges, must = len(frame.sites), len(frame.site_edges), set(frame.must)
    conditions, stays = frame.conditions, frame.stays
    frame.site_starts.clear()  # those of the body are told of where it is imported
    for one in _offered(frame.module):
        ev.budget.begin_call()
        try:
            _call(ev, frame, one)
        except Raised:
            pass
        ev.journal.forget(mark)
        ev.environment.begin(kept)
        del frame.sites[sites:], frame.site_edges[edges:]
        frame.must, frame.conditions, frame.stays = set(must), conditions, stays


def _call(ev: Interpreter, frame: Frame, one: _Offered) -> None:
    owner = None if one.owner is None else ev.definitions.class_ref(frame.module, one.owner, None, "")
    function = ev.definitions.function(frame.module, one.node, None, owner)
    code = ev.definitions.code_of(function)
    if code is None:
        return
    frame.at(function.line, function.line)
    frame.symbol = function.qualified
    given: list[Value] = [UNKNOWN] * len(code.parameters.positional)
    if owner is not None and given and (receiver := _receiver(function, owner, one.node)) is not None:
        given[0] = receiver
    ev.call(frame, function, tuple(given), dict.fromkeys(code.parameters.keyword_only, UNKNOWN))


def _receiver(function: Function, owner: ClassRef, node: Node) -> Value | None:
    """What a method is called of; None for a static one."""
    decorated = {last_name(nodes.called(decorator)) for decorator, _ in nodes.decorators_of(node)}
    if "staticmethod" in decorated:
        return None
    if "classmethod" in decorated or function.name == "__new__":
        return owner
    return Instance(owner, open_=function.name != "__init__")


def _offered(module: Module) -> Iterator[_Offered]:
    """The functions and methods at the top of a module that hold a word about processes."""
    defined = sorted(_defined(module), key=lambda one: nodes.line_of(one.node))
    firsts = [nodes.line_of(one.node) for one in defined]
    found = {bisect_right(firsts, line) - 1 for line in lines_about_processes(module.source)}
    found |= {index for index, one in enumerate(defined) if _makes_a_loader(one)}
    yield from (defined[index] for index in sorted(found) if index >= 0)


def _makes_a_loader(one: _Offered) -> bool:
    """Whether a function makes an object of a class that derives from one of loaders."""
    _, _, name, *_ = one.node
    bases = () if one.owner is None or name != "__init__" else Class._make(one.owner).bases
    return any((last_name(base) or "").endswith("DataLoader") for base in bases)


def _defined(module: Module) -> Iterator[_Offered]:
    for entries in module.summary.binds.values():
        for how, payload, _line, _guards in entries:
            if how == nodes.BY_DEF:
                yield _Offered(payload, None)
            elif how == nodes.BY_CLASS:
                yield from _methods(payload)


def _methods(node: Node) -> Iterator[_Offered]:
    for entries in Class._make(node).binds.values():
        for how, payload, _line, _guards in entries:
            if how == nodes.BY_DEF:
                yield _Offered(payload, node)
