"""`import` statements: what they run, and the names they bind."""

from __future__ import annotations

from coldfork.source.evaluation.flow.branches import FALLS
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.assignment import bind_name, stored
from coldfork.source.evaluation.objects.exports import lacks, lazy_export, star_names
from coldfork.source.evaluation.objects.names import imported_value, module_object
from coldfork.source.syntax.nodes import Node


def import_(ev: Interpreter, frame: Frame, node: Node) -> int:
    """`import a.b as c`."""
    _, line, end_line, names = node
    frame.at(line, end_line)
    for name, alias in names:
        ev.record_import(frame, name)
        bound = alias or name.partition(".")[0]
        if stored(frame, bound):
            bind_name(ev, frame, bound, module_object(ev, name if alias else bound))
    return FALLS


def from_(ev: Interpreter, frame: Frame, node: Node) -> int:
    """`from a import b as c`, with the submodules that this imports."""
    _, line, end_line, source, level, names = node
    frame.at(line, end_line)
    target = frame.module.absolute(source, level)
    ev.record_import(frame, target)
    state = ev.program.module(target)
    for name, alias in names:
        if name == "*":
            _import_star(ev, frame, target)
            continue
        bound = state is not None and name in state.summary.binds
        if bound and state is frame.module and ev.program.exists(f"{target}.{name}"):
            bound = False  # `from . import submodule` in the package itself is what binds the name
        if not bound and ev.program.exists(f"{target}.{name}"):
            ev.record_import(frame, f"{target}.{name}")
        elif not bound and state is not None:
            if frame.tries and lacks(state, name):
                raise Raised("ImportError")
            if level:
                ev.record_missing_name(frame, state, name)
        kept = stored(frame, alias or name)
        if kept or not bound or (state is not None and lazy_export(state, name) is not None):
            value = imported_value(ev, target, name, frame)
            if kept:
                bind_name(ev, frame, alias or name, value)
    return FALLS


def _import_star(ev: Interpreter, frame: Frame, target: str) -> None:
    """Bring a star import's submodules and, in a function, its names in."""
    for name in star_names(ev, target):
        state = ev.program.module(target)
        if state is not None and name not in state.summary.binds and ev.program.exists(f"{target}.{name}"):
            ev.record_import(frame, f"{target}.{name}")
