"""Looks up names in modules and classes when they are needed, in Python's order."""

from __future__ import annotations

import builtins

from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.bindings import bindings_before, bound, looked_up, remembered
from coldfork.source.evaluation.objects.exports import module_object, star_names
from coldfork.source.evaluation.running import Key
from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Binding
from coldfork.source.values.kinds import (
    TRUTHY,
    UNKNOWN,
    ClassEnv,
    ClassRef,
    Const,
    External,
    Value,
)

_BUILTINS = frozenset(dir(builtins))


def name_value(ev: Interpreter, frame: Frame, name: str) -> Value:
    """Return the value of `name` in `frame`."""
    env = frame.env
    while env is not None:
        value = env.names.get(name)
        if value is None and type(env) is ClassEnv:
            value = class_value(ev, env.cls, name, frame.before)
        if value is not None:
            return value
        env = env.outer
    return global_value(ev, frame.module, name, frame.before)


def global_value(ev: Interpreter, module: Module, name: str, before: int = 0) -> Value:
    """Return the value of `name` at the top level of `module`, or before its line `before`, including
    built-ins.
    """
    found = module_value(ev, module, name, before)
    if found is not None:
        return found
    if name == "__name__":
        return Const("__main__" if module.is_main else module.plain)
    if name == "__package__":
        return Const(module.package)
    if name == "__file__":
        # an unknown path: its value shows no device, and would only make equal calls look different
        return TRUTHY
    if name in _BUILTINS:
        return External(f"builtins.{name}")
    return UNKNOWN


def module_value(ev: Interpreter, module: Module, name: str, before: int = 0) -> Value | None:
    """Return the value of `name` after the module has run, or before its line `before`; None if there is
    none.
    """
    running, program = ev.running, ev.program
    if before and (earlier := bindings_before(module.summary.binds.get(name, ()), before)):
        if (module.name, name) not in running.rebound:
            return looked_up(ev, module, None, earlier, (module.name, "", name, len(earlier)))
    if module is running.module and running.env is not None:
        current = running.env.names.get(name)
        # the value so far in the body that is running; calls that read it are not cached
        if current is not None:
            ev.journal.note_peculiar()
            return current
    if running.rebound:
        rebound = running.rebound.get((module.name, name))
        if rebound is not None:
            return rebound
    key = (module.name, "", name)
    known = ev.definitions.values
    if key in known:
        value, mask = known[key]
        program.consulted |= mask
        return value
    return remembered(ev, module, key, lambda: _bound_or_starred(ev, module, name, key))


def _bound_or_starred(ev: Interpreter, module: Module, name: str, key: Key) -> Value | None:
    entries = module.summary.binds.get(name)
    value = bound(ev, module, None, entries, key) if entries is not None else None
    if value is None and module.summary.stars:
        return _from_stars(ev, module, name)
    return value


def _from_stars(ev: Interpreter, module: Module, name: str) -> Value | None:
    """Return the value that a star import gives `name`; None if no star import does."""
    stars = module.summary.stars
    key = (module.name, "*", name)
    if name.startswith("_") or key in ev.memo.resolving:
        return None
    ev.memo.resolving[key] = ev.memo.level
    try:
        unseen: Value | None = None
        for source, level, _guards in reversed(stars):
            target = module.absolute(source, level)
            state = ev.program.module(target)
            if state is None:
                # If the missing module is a compiled part of this package, the name is known by the name of
                # the package.
                inside = target.partition(".")[0] == module.name.partition(".")[0]
                unseen = unseen or ev.external(f"{module.name if inside else target}.{name}")
                continue
            found = module_value(ev, state, name)
            if found is None and name in star_names(ev, target) and ev.program.exists(f"{target}.{name}"):
                found = module_object(ev, f"{target}.{name}")  # `__all__` may list a submodule
            if found is not None:
                return found
        if name in _BUILTINS or (unseen is not None and ev.program.exists(f"{module.name}.{name}")):
            return None
        return unseen
    finally:
        del ev.memo.resolving[key]


def class_value(ev: Interpreter, cls: ClassRef, name: str, before: int = 0) -> Value | None:
    """Return the value that a class itself gives `name`, in its body or by a later assignment."""
    if cls.outside is not None:
        set_since = cls.outside.get(name)
        if set_since is not None:
            return set_since
    entries = cls.binds.get(name)
    if entries is None:
        return None
    key = (cls.module.name, f"{cls.qualified}:{cls.line}", name)
    if before and (earlier := bindings_before(entries, before)):
        return looked_up(ev, cls.module, cls, earlier, (*key, len(earlier)))
    return looked_up(ev, cls.module, cls, entries, key)


def imported_value(ev: Interpreter, target: str, name: str, frame: Frame | None = None) -> Value:
    """Return the value that `from target import name` binds; effects of a module's `__getattr__` go to
    `frame`.
    """
    state = ev.program.module(target)
    if state is not None:
        # In the package itself, `from package import submodule as submodule` means the submodule.
        circular = (state.name, "", name) in ev.memo.resolving
        value = None if circular and ev.program.exists(f"{target}.{name}") else module_value(ev, state, name)
        if value is not None:
            if name in state.lazy:
                return ev.read_lazily(frame or _quiet(state), value)
            return value
    if ev.program.exists(f"{target}.{name}"):
        return module_object(ev, f"{target}.{name}")
    if frame is None:
        frame = _quiet(state) if state is not None else None
    if state is None:
        located = ev.program.find(target)
        compiled_package = located is None or located.compiled
        dotted = f"{target}.{name}"
        return ev.external(dotted) if compiled_package else External(dotted, is_module=True)
    assert frame is not None
    try:
        return ev.module_attribute(frame, state, name)
    except Raised:
        return UNKNOWN


def value_before(ev: Interpreter, module: Module, name: str, line: int) -> Value | None:
    """Return the value that a module's name has when a line of its body runs; None if there is none yet."""
    before = tuple(entry for entry in module.summary.binds.get(name, ()) if Binding._make(entry).line < line)
    return looked_up(ev, module, None, before, (module.name, "", name, len(before))) if before else None


def _quiet(module: Module) -> Frame:
    frame = Frame(module, None)
    frame.quiet = True
    return frame


def class_name_begins(ev: Interpreter, frame: Frame, name: str, line: int) -> tuple[object, ...] | None:
    """Begin to assign a name in a class body: while the returned key is in `resolving`, lookups find the
    earlier value.
    """
    cls = frame.cls
    entries = cls.binds.get(name) if cls is not None else None
    if cls is None or not entries:
        return None
    own = (cls.module.name, f"{cls.qualified}:{cls.line}", name)
    key: tuple[object, ...] = own if cls.env is None else (cls, name)
    if key in ev.memo.resolving or cls.env is None:
        ev.definitions.values.pop(own, None)
    if key in ev.memo.resolving:
        return None
    ev.memo.resolving[key] = ev.memo.level
    ev.memo.entry[key] = next(
        (i for i, (how, _, bound, _) in enumerate(entries) if bound == line and how != nodes.BY_TYPE), 0
    )
    return key
