"""Names that a lazy import binds: the first reading of one imports (PEP 810)."""

from __future__ import annotations

from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.assignment import bind_name, stored
from coldfork.source.evaluation.objects.exports import module_object
from coldfork.source.evaluation.objects.import_edges import import_name
from coldfork.source.evaluation.objects.names import imported_value, value_before
from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.syntax.lazy_imports import LISTED
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.walk import walk
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import Const, Union, Value
from coldfork.source.values.lazy_imports import Imported, LazyImport
from coldfork.source.values.unions import alternatives, truth


def bind_lazily(ev: Interpreter, frame: Frame, name: str, imported: Imported) -> None:
    """Bind a name to an import that is still to come; one that is not lazy after all happens here."""
    value: Value = LazyImport(frame.module, imported)
    if not imported.declared:
        lazily = _is_lazy(ev, frame.module, imported)
        if not lazily:
            _run(ev, frame, frame.module, imported, lazily)
    if stored(frame, name):
        bind_name(ev, frame, name, value)


def read_lazily(ev: Interpreter, frame: Frame, value: Value) -> Value:
    """What somebody gets who reads a name that was imported lazily: the import happens now."""
    if type(value) is LazyImport:
        return _read(ev, frame, value)
    if type(value) is Union and any(type(one) is LazyImport for one, _ in alternatives(value)):
        return ev.for_each_alternative(
            frame, value, lambda one: _read(ev, frame, one) if type(one) is LazyImport else one
        )
    return value


def _read(ev: Interpreter, frame: Frame, value: LazyImport) -> Value:
    module, imported = value.module, value.imported
    lazily = imported.declared or _is_lazy(ev, module, imported)
    own = frame.toplevel and module is ev.running.module
    if lazily is not False and not (own and imported in ev.running.imported):
        _run(ev, frame, module, imported, lazily)
        if own and lazily and not frame.conditions and frame.off is None:
            ev.running.imported.add(imported)
    target = module.absolute(imported.source, imported.level)
    if imported.name is not None:
        return read_lazily(ev, frame, imported_value(ev, target, imported.name, frame))
    return module_object(ev, target if imported.alias else target.partition(".")[0])


def _run(ev: Interpreter, frame: Frame, module: Module, imported: Imported, lazily: bool | None) -> None:
    """Import what a statement of `module` names, here; None where nobody knows which imports are lazy."""
    target = module.absolute(imported.source, imported.level)
    if lazily is None:
        outer = frame.conditions
        words = f"{LISTED} of {module.name} tells when {target} is imported"
        frame.conditions = (*outer, Condition(words=words))
        try:
            _run(ev, frame, module, imported, True)
        finally:
            frame.conditions = outer
    elif imported.name is not None:
        ev.record_import(frame, target)
        import_name(ev, frame, target, imported.name, imported.level, module)
    else:
        at_once = imported.alias or not lazily
        ev.record_import(frame, target if at_once else target.partition(".")[0])


def _is_lazy(ev: Interpreter, module: Module, imported: Imported) -> bool | None:
    """Whether `__lazy_modules__` names what is imported, when the statement runs; None if nobody knows."""
    quiet = Frame(module, None)
    quiet.quiet = True
    listed = value_before(ev, module, LISTED, imported.line)
    if listed is None:
        return False
    if any(_asks_the_list(node) for node in walk(module.summary.body)):
        return None  # a method may have changed it
    target = Const(module.absolute(imported.source, imported.level))
    return truth(ev.compare(quiet, "in", target, listed))


def _asks_the_list(node: Node) -> bool:
    match node:
        case (nodes.ATTR, (nodes.NAME, name, _), *_):
            return bool(name == LISTED)
    return False
