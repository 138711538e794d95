"""`import` statements: their effects, and the names that they bind."""

from __future__ import annotations

from coldfork.source.evaluation.flow.branches import FALLS
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.assignment import bind_name, stored
from coldfork.source.evaluation.objects.exports import as_catalogued, lazy_export, module_object, star_names
from coldfork.source.evaluation.objects.import_edges import bind_lazily, import_name
from coldfork.source.evaluation.objects.names import imported_value
from coldfork.source.program.module import Module
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.rarer_kinds import Imported


def import_(ev: Interpreter, frame: Frame, node: Node) -> int:
    """Run `import a.b as c`."""
    _, line, end_line, names = node
    frame.at(line, end_line)
    for name, alias in names:
        target = frame.module.absolute(name, 0)
        ev.record_import(frame, target)
        _has_run(ev, frame, target)
        bound = alias or name.partition(".")[0]
        if stored(frame, bound):
            whole = target if alias else frame.module.absolute(bound, 0)
            bind_name(ev, frame, bound, module_object(ev, whole))
    return FALLS


def from_(ev: Interpreter, frame: Frame, node: Node) -> int:
    """Run `from a import b as c`; `b` may be a submodule, which is then imported."""
    _, line, end_line, source, level, names = node
    frame.at(line, end_line)
    target = frame.module.absolute(source, level)
    ev.record_import(frame, target)
    state = _has_run(ev, frame, target)
    for name, alias in names:
        if name == "*":
            _import_star(ev, frame, target)
            continue
        bound = import_name(ev, frame, target, name, level, frame.module)
        if not bound and state is not None and state.own:
            _has_run(ev, frame, f"{target}.{name}")
        kept = stored(frame, alias or name)
        deferred = state is not None and (
            not bound or name in state.lazy or lazy_export(state, name) is not None
        )
        if kept or deferred:
            value = imported_value(ev, target, name, frame)
            value = as_catalogued(ev, frame.module, f"{target}.{name}", value)
            if kept:
                bind_name(ev, frame, alias or name, value)
    return FALLS


def _has_run(ev: Interpreter, frame: Frame, name: str) -> Module | None:
    """Return a module that has just been imported, and adopt the default device that it has set."""
    state = ev.program.module(name)
    if state is not None and state.own and frame.toplevel and not frame.conditions:
        ev.environment.imported(state)
    return state


def lazy_import(ev: Interpreter, frame: Frame, node: Node) -> int:
    """Run `lazy import a.b as c`, or an `import` of a module that `__lazy_modules__` may list."""
    _, line, end_line, declared, names = node
    frame.at(line, end_line)
    for name, alias in names:
        imported = Imported.of_module(name, alias is not None, declared, line)
        bind_lazily(ev, frame, alias or name.partition(".")[0], imported)
    return FALLS


def lazy_from(ev: Interpreter, frame: Frame, node: Node) -> int:
    """Run `lazy from a import b as c`, or a `from` import of a module that `__lazy_modules__` may list."""
    _, line, end_line, declared, source, level, names = node
    frame.at(line, end_line)
    for name, alias in names:
        bind_lazily(ev, frame, alias or name, Imported.of_name(source, level, name, declared, line))
    return FALLS


def _import_star(ev: Interpreter, frame: Frame, target: str) -> None:
    """Run a star import, including the submodules that it imports; inside a function, bind its names."""
    for name in star_names(ev, target):
        state = ev.program.module(target)
        if state is not None and name in state.lazy:
            imported_value(ev, target, name, frame)
        if state is not None and name not in state.summary.binds and ev.program.exists(f"{target}.{name}"):
            ev.record_import(frame, f"{target}.{name}")
