"""Imports as they run: the edges they add, what of them may fail, and modules that a catalogue blames."""

from __future__ import annotations

import sys

from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.exports import lacks
from coldfork.source.evaluation.objects.presence import installed, missing, presence_of, require
from coldfork.source.evaluation.trace import Edge, Failure
from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.values.conditions import Condition

_MISSING = "ModuleNotFoundError"


def record_import(ev: Interpreter, frame: Frame, target: str) -> None:
    """Record that an import of `target` runs here; in a `try` it may fail."""
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
    """Reading `package.submodule` imports what a `lazy import package.submodule` has named before."""
    if dotted in frame.module.lazy and ev.program.exists(dotted):
        ev.record_import(frame, dotted)


def _needs(ev: Interpreter, frame: Frame, top: str) -> tuple[Condition, ...]:
    """What has to hold for an import that a test or a `try` allows to be missing, and that is not here."""
    optional = frame.gate or frame.tries
    if not optional or top not in ev.known_libraries:
        return ()
    presence = presence_of(ev, frame.module, top)
    return () if presence.sure or presence.required else (installed(top),)


def import_name(ev: Interpreter, frame: Frame, target: str, name: str, level: int, importer: Module) -> bool:
    """Import one name from a module that is imported already; whether the module binds it itself."""
    state = ev.program.module(target)
    bound = state is not None and _binds(state, name)
    submodule = f"{target}.{name}"
    if bound and state is importer and ev.program.exists(submodule):
        bound = False  # `from . import submodule` in the package itself is what binds the name
    known = state is None and submodule in ev.catalogue.imports  # a module whose import is known to wake
    if not bound and (known or ev.program.exists(submodule)):
        ev.record_import(frame, submodule)
    elif not bound and state is not None:
        if frame.tries and lacks(state, name):
            raise Raised("ImportError")
        if level:
            ev.record_missing_name(frame, state, name)
    return bound


def _binds(state: Module, name: str) -> bool:
    """Whether a module binds a name itself: one that it only annotates is left to its `__getattr__`."""
    entries = state.summary.binds.get(name, ())
    for how, _payload, _line, _guards in entries:
        if how != nodes.BY_TYPE:
            return True
    return bool(entries) and "__getattr__" not in state.summary.binds


def record_missing_name(ev: Interpreter, frame: Frame, state: Module, name: str) -> None:
    """Record `from package import name` where the package's source lacks the name: presumably compiled."""
    if ev.failing and "__getattr__" not in state.summary.binds and state.located.is_package:
        target = f"{state.name}.{name}"
        ev.record_failure(
            Failure(
                Condition(words=f"{target} does not import", presumes=f"{target} imports"),
                False,
                "ImportError",
                frozenset(frame.must),
            )
        )


#: Runtimes of other hardware: on the profile's machine they are taken to be missing.
_FOREIGN = {
    "libtpu": "tpu",
    "torch_xla": "tpu",
    "intel_extension_for_pytorch": "xpu",
    "oneccl_bindings_for_pytorch": "xpu",
    "habana_frameworks": "hpu",
    "torch_npu": "npu",
    "torch_neuronx": "neuron",
    "torch_musa": "musa",
    "torch_mlu": "mlu",
}


def _may_fail(ev: Interpreter, frame: Frame, target: str) -> None:
    """Note that an import inside a `try` may fail, and what is presumed when it does not."""
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
            return  # without it this code would not run
        fails = missing(top, presence.required)._replace(
            words=words, presumes=f"{target} imports" if presence.required else ""
        )
    require(ev, frame, fails, _MISSING)


def _in_known_package(ev: Interpreter, target: str) -> bool:
    """A module that a package with source lacks is taken for a compiled one."""
    parent = target.rpartition(".")[0]
    located = ev.program.find(parent) if parent else None
    return located is not None and located.is_package and located.path is not None
