"""Imports as they run, including lazy ones: the modules imported, possible failures, and known wakes."""

from __future__ import annotations

import sys
from typing import NamedTuple

from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.assignment import bind_name, stored
from coldfork.source.evaluation.objects.exports import lacks, module_object
from coldfork.source.evaluation.objects.names import imported_value, value_before
from coldfork.source.evaluation.trace import Edge, Failure
from coldfork.source.files.site_packages import normalised
from coldfork.source.program.module import Module
from coldfork.source.program.package_environment import with_packages
from coldfork.source.syntax import nodes
from coldfork.source.syntax.imports import LISTED
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.walk import walk
from coldfork.source.values.conditions import Condition, presumed_together
from coldfork.source.values.kinds import Const, Union, Value
from coldfork.source.values.rarer_kinds import Imported, LazyImport
from coldfork.source.values.unions import alternatives, truth

_MISSING = "ModuleNotFoundError"


def record_import(ev: Interpreter, frame: Frame, target: str) -> None:
    """Record that the current line imports `target`; inside a `try`, the import may fail."""
    if not target:
        return
    top = target.partition(".")[0]
    if not frame.quiet:
        frame.edge(Edge(target, _needs(ev, frame, top), (), None), True)
    if ev.failing:
        foreign = _FOREIGN.get(top)
        if (
            foreign is not None
            and foreign not in ev.program.profile.accelerators
            and not ev.program.exists(top)
        ):
            raise Raised(_MISSING)
        _may_fail(ev, frame, target)


def import_submodule(ev: Interpreter, frame: Frame, dotted: str) -> None:
    """Import a submodule when `package.submodule` is read, if an earlier `lazy import package.submodule`
    asked for it.
    """
    if dotted in frame.module.lazy and ev.program.exists(dotted):
        ev.record_import(frame, dotted)


def _needs(ev: Interpreter, frame: Frame, top: str) -> tuple[Condition, ...]:
    """Return the condition that a package is installed, if a test or `try` around its import allows for its
    absence.
    """
    optional = frame.gate or frame.tries
    if not optional or top not in ev.known_libraries:
        return ()
    presence = presence_of(ev, frame.module, top)
    return () if presence.sure or presence.required else (installed(top),)


def import_name(ev: Interpreter, frame: Frame, target: str, name: str, level: int, importer: Module) -> bool:
    """Import one name from an imported module; return whether a statement of the module binds the name."""
    state = ev.program.module(target)
    bound = state is not None and _binds(state, name)
    submodule = f"{target}.{name}"
    if bound and state is importer and ev.program.exists(submodule):
        bound = False  # the binding is `from . import submodule` in the package itself
    known = state is None and submodule in ev.catalogue.imports  # its import is known to wake a device
    if not bound and (known or ev.program.exists(submodule)):
        ev.record_import(frame, submodule)
    elif not bound and state is not None:
        if frame.tries and lacks(ev, state, name):
            raise Raised("ImportError")
        if level:
            ev.record_missing_name(frame, state, name)
    return bound


def _binds(state: Module, name: str) -> bool:
    """Return whether a module itself binds a name; a name that is only annotated is left to `__getattr__`."""
    entries = state.summary.binds.get(name, ())
    for how, _payload, _line, _guards in entries:
        if how != nodes.BY_TYPE:
            return True
    return bool(entries) and "__getattr__" not in state.summary.binds


def record_missing_name(ev: Interpreter, frame: Frame, state: Module, name: str) -> None:
    """Record `from package import name` if the source of the package lacks the name: it is presumably
    compiled.
    """
    if ev.failing and "__getattr__" not in state.summary.binds and state.located.is_package:
        target = f"{state.name}.{name}"
        fails = Condition(words=f"{target} does not import", presumes=f"{target} imports")
        ev.record_failure(Failure(fails, False, "ImportError", frozenset(frame.must)))


#: Libraries for other hardware, presumed missing on the assumed machine.
_FOREIGN = {
    **dict.fromkeys(("libtpu", "torch_xla"), "tpu"),
    **dict.fromkeys(("intel_extension_for_pytorch", "oneccl_bindings_for_pytorch"), "xpu"),
    "habana_frameworks": "hpu", "torch_npu": "npu", "torch_neuronx": "neuron", "torch_musa": "musa",
    "torch_mlu": "mlu",
}  # fmt: skip


def _may_fail(ev: Interpreter, frame: Frame, target: str) -> None:
    """Record that an import inside a `try` may fail, and what the code after the import presumes."""
    located = ev.program.find(target)
    top = target.partition(".")[0]
    if (located is not None and not located.compiled) or top in sys.stdlib_module_names:
        return
    words = f"{target} does not import"
    if located is not None or _in_known_package(ev, target):
        fails = Condition(words=words, presumes=f"{target} imports")
    else:
        presence = presence_of(ev, frame.module, top)
        if presence.sure and not ev.program.exists(top):
            return  # this code runs only if the package is installed
        fails = missing(top, presence.required)._replace(
            words=words, presumes=f"{target} imports" if presence.required else ""
        )
    require(ev, frame, fails, _MISSING)


def _in_known_package(ev: Interpreter, target: str) -> bool:
    """Return whether a missing module belongs to a package with source, so that it is presumably compiled."""
    parent = target.rpartition(".")[0]
    located = ev.program.find(parent) if parent else None
    return located is not None and located.is_package and located.path is not None


class Presence(NamedTuple):
    """Whether a package that is missing here is certainly or presumably installed where the code runs.

    It is certain if the importing module, or a package that contains it, imports the package unconditionally,
    because these could not run without it. It is presumed, and reported as such, if the checked project
    requires the package. Otherwise it is unknown.
    """

    sure: bool
    required: bool
    """True if the checked project requires the package."""


def presence_of(ev: Interpreter, module: Module, name: str) -> Presence:
    """Return whether code in a module may presume that a package is installed; `name` is the package or a
    module in it.
    """
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names or ev.program.exists(name):
        return Presence(True, False)
    if ev.program.exists(top):
        return Presence(False, False)  # the package exists without this module
    if _is_needed(ev, module, top):
        return Presence(True, False)
    return Presence(False, normalised(top) in ev.program.project.required)


def installed(package: str) -> Condition:
    """Return the condition that a package is installed."""
    return Condition(words=f"{package} is installed", means=("installed", package))


def missing(package: str, required: bool) -> Condition:
    """Return the condition that a package is not installed."""
    presumes = f"{package} is installed" if required else ""
    words = f"{package} is not installed"
    return Condition(words=words, presumes=presumes, means=("not", ("installed", package)))


def require(ev: Interpreter, frame: Frame, fails: Condition, kind: str) -> None:
    """Record that this line fails if a package is missing, and the conditions for the code after it."""
    even = not fails.presumes
    ev.record_failure(Failure(fails, even, kind, frozenset(frame.must)))
    if not frame.tries:
        return  # the caller decides what the failure means
    if fails.presumes:
        frame.presumed = presumed_together(frame.presumed, (fails.presumes,))
    elif fails.means is not None:
        _, (_, package) = fails.means
        frame.conditions = (*frame.conditions, installed(package))


def _is_needed(ev: Interpreter, module: Module, top: str) -> bool:
    """Return whether a module, or a package that contains it, imports a package unconditionally."""
    if top in module.outline.needs:
        return True
    above = map(ev.program.module, reversed(with_packages(module.name)[:-1]))
    return any(package is not None and top in package.outline.needs for package in above)


def bind_lazily(ev: Interpreter, frame: Frame, name: str, imported: Imported) -> None:
    """Bind a name to a pending import; an import that turns out not to be lazy runs here."""
    value: Value = LazyImport(frame.module, imported)
    if not imported.declared:
        lazily = _is_lazy(ev, frame.module, imported)
        if not lazily:
            _run(ev, frame, frame.module, imported, lazily)
    if stored(frame, name):
        bind_name(ev, frame, name, value)


def read_lazily(ev: Interpreter, frame: Frame, value: Value) -> Value:
    """Return the value of a lazily imported name, which runs the import."""
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
    """Run a lazy import of `module` here; `lazily` is None if it is unknown whether it is lazy."""
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
    """Return whether `__lazy_modules__` lists the module when the import statement runs; None if unknown."""
    quiet = Frame(module, None)
    quiet.quiet = True
    listed = value_before(ev, module, LISTED, imported.line)
    if listed is None:
        return False
    if any(_asks_the_list(node) for node in walk(module.summary.body)):
        return None  # a method may have changed the list
    target = Const(module.absolute(imported.source, imported.level))
    return truth(ev.compare(quiet, "in", target, listed))


def _asks_the_list(node: Node) -> bool:
    match node:
        case (nodes.ATTR, (nodes.NAME, name, _), *_):
            return bool(name == LISTED)
    return False
