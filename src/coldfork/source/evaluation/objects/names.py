"""Look names up: in modules and classes, lazily, the way Python would find them."""

from __future__ import annotations

import builtins

from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.exports import star_names
from coldfork.source.evaluation.objects.mutation import share
from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node, decorators_of
from coldfork.source.values.kinds import (
    TRUTHY,
    UNKNOWN,
    ClassEnv,
    ClassRef,
    Const,
    Env,
    External,
    ModuleRef,
    Union,
    Value,
)
from coldfork.source.values.unions import under, union

_BUILTINS = frozenset(dir(builtins))
_DEEPEST_LOOKUP = 250


def name_value(ev: Interpreter, frame: Frame, name: str) -> Value:
    """What `name` means inside `frame`."""
    env = frame.env
    while env is not None:
        value = env.names.get(name)
        if value is None and type(env) is ClassEnv:
            value = class_value(ev, env.cls, name)
        if value is not None:
            return value
        env = env.outer
    return global_value(ev, frame.module, name)


def global_value(ev: Interpreter, module: Module, name: str) -> Value:
    """What `name` means at the top level of `module`, built-ins included."""
    found = module_value(ev, module, name)
    if found is not None:
        return found
    if name == "__name__":
        return Const(module.name)
    if name == "__package__":
        return Const(module.package)
    if name == "__file__":
        return TRUTHY  # some path: which one says nothing about a device, and would tell equal calls apart
    if name in _BUILTINS:
        return External(f"builtins.{name}")
    return UNKNOWN


def module_value(ev: Interpreter, module: Module, name: str) -> Value | None:
    """What the module binds `name` to once it has run; None when it does not bind it."""
    running, program = ev.running, ev.program
    if module is running.module and running.env is not None:
        current = running.env.names.get(name)
        if (
            current is not None
        ):  # what the body being run has bound so far; a call that saw it is not remembered
            ev.journal.shared += 1
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
    outer, program.consulted = program.consulted, module.bit
    entries = module.summary.binds.get(name)
    value = _bound(ev, module, None, entries, key) if entries is not None else None
    if value is None and module.summary.stars:
        value = _from_stars(ev, module, name)
    mask = program.consulted
    program.consulted = outer | mask
    if ev.memo.settled:
        known[key] = value, mask
    return value


def _from_stars(ev: Interpreter, module: Module, name: str) -> Value | None:
    """What a star import brings in under `name`."""
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
                # A package that takes over its own compiled part's names is known by its own.
                inside = target.partition(".")[0] == module.name.partition(".")[0]
                unseen = unseen or ev.external(f"{module.name if inside else target}.{name}")
                continue
            found = module_value(ev, state, name)
            if found is None and name in star_names(ev, target) and ev.program.exists(f"{target}.{name}"):
                found = module_object(ev, f"{target}.{name}")  # `__all__` lists a submodule
            if found is not None:
                return found
        if name in _BUILTINS or (unseen is not None and ev.program.exists(f"{module.name}.{name}")):
            return None
        return unseen
    finally:
        del ev.memo.resolving[key]


def module_object(ev: Interpreter, dotted: str) -> Value:
    """A module by its absolute name."""
    located = ev.program.find(dotted)
    if located is not None and not located.compiled:
        return ModuleRef(dotted)
    return External(dotted, is_module=True)


def class_value(ev: Interpreter, cls: ClassRef, name: str) -> Value | None:
    """What the class itself binds `name` to: its body, or who has set it since."""
    if cls.outside is not None:
        set_since = cls.outside.get(name)
        if set_since is not None:
            return set_since
    entries = cls.binds.get(name)
    if entries is None:
        return None
    key = (cls.module.name, f"{cls.qualified}:{cls.line}", name)
    if cls.env is None:
        known = ev.definitions.values.get(key)
        if known is not None:
            ev.program.consulted |= known[1]
            return known[0]
    outer, ev.program.consulted = ev.program.consulted, cls.module.bit
    resolving = key if cls.env is None else (cls, name)
    value = _bound(ev, cls.module, cls, entries, resolving)
    mask = ev.program.consulted
    ev.program.consulted = outer | mask
    if value is not None and cls.env is None and ev.memo.settled:
        ev.definitions.values[key] = value, mask
    return value


def _bound(
    ev: Interpreter,
    module: Module,
    cls: ClassRef | None,
    entries: tuple[Node, ...],
    resolving: tuple[object, ...],
) -> Value | None:
    """The value that the last sure binding gives, joined with those that may override it."""
    memo = ev.memo
    unfinished = memo.resolving.get(resolving)
    if unfinished is not None or len(memo.resolving) > _DEEPEST_LOOKUP:
        memo.need_unfinished(unfinished or 0)
        return _earlier(ev, module, cls, entries, resolving)
    env = ClassEnv(cls) if cls is not None else None
    memo.resolving[resolving] = memo.enter()
    try:
        found: list[Value] = []
        for index in range(len(entries) - 1, -1, -1):
            how, payload, _line, guards = entries[index]
            if how == nodes.BY_TYPE:
                continue
            memo.entry[resolving] = index
            holds, condition = ev.guards_hold(module, env, guards) if guards else (True, None)
            if holds is False and condition is None:
                continue
            value = _value_of(ev, module, cls, env, how, payload, _name_in(resolving))
            if condition is not None:
                value = under(value, condition)
            found.append(value)
            if holds is True:
                break
        if found:
            found.reverse()
            found.sort(key=_off_path)
            return union(found)
        for how, payload, _line, _guards in entries:
            if how == nodes.BY_TYPE and "__getattr__" not in module.summary.binds:
                return ev.instance_of(module, env, payload)
        return None
    finally:
        del memo.resolving[resolving]
        memo.leave()


def _name_in(resolving: tuple[object, ...]) -> str:
    """The name that a key of `resolving` is about."""
    *_, name = resolving
    return name if isinstance(name, str) else _name_in(resolving[:-1])


def _earlier(
    ev: Interpreter,
    module: Module,
    cls: ClassRef | None,
    entries: tuple[Node, ...],
    resolving: tuple[object, ...],
) -> Value | None:
    """What a name means while it is being bound: what it was before, or what is outside a class body."""
    index = ev.memo.entry.get(resolving, 0)
    deeper = (*resolving[:-1], f"{resolving[-1]}", index)
    while deeper in ev.memo.resolving:  # what it was before is being worked out: what it was before that
        index = ev.memo.entry[deeper]
        deeper = (*resolving[:-1], f"{resolving[-1]}", index)
    before = entries[:index]
    if any(entry[0] != nodes.BY_TYPE for entry in before):
        return _bound(ev, module, cls, before, deeper)
    return None if cls is not None and all(entry[0] == nodes.BY_TYPE for entry in before) else UNKNOWN


def _off_path(value: Value) -> bool:
    return type(value) is Union and all(condition is not None for _, condition in value.alternatives)


def _value_of(
    ev: Interpreter,
    module: Module,
    cls: ClassRef | None,
    env: Env | None,
    how: int,
    payload: Node,
    name: str,
) -> Value:
    outer = cls.env if cls is not None else None
    if how == nodes.BY_DEF:
        function = ev.definitions.function(module, payload, outer, cls)
        decorators = decorators_of(payload)
        return ev.decorated(module, env, function, decorators) if decorators else function
    if how == nodes.BY_CLASS:
        made = ev.definitions.class_ref(module, payload, outer, cls.qualified if cls else "")
        if cls is not None and made.scope is outer:
            made.scope = env
        decorators = decorators_of(payload)
        return ev.decorated(module, env, made, decorators) if decorators else made
    if how == nodes.BY_IMPORT:
        dotted, aliased = payload
        return module_object(ev, dotted if aliased else dotted.partition(".")[0])
    if how == nodes.BY_FROM:
        source, level, imported = payload
        return imported_value(ev, module.absolute(source, level), imported)
    if how == nodes.BY_VALUE:
        return share(ev.quietly(module, env, payload))
    return _after_statement(ev, module, env, payload, name)


def _after_statement(ev: Interpreter, module: Module, env: Env | None, statement: Node, name: str) -> Value:
    """What a loop or another compound statement leaves in `name`."""
    inner = Env(env)
    frame = Frame(module, inner)
    frame.quiet = True
    mark = ev.journal.mark()
    try:
        ev.execute(frame, (statement,))
    except Raised:
        pass
    finally:
        ev.journal.forget(mark)
    return inner.names.get(name, UNKNOWN)


def imported_value(ev: Interpreter, target: str, name: str, frame: Frame | None = None) -> Value:
    """What `from target import name` yields; what a module's `__getattr__` does for it goes to `frame`."""
    state = ev.program.module(target)
    if state is not None:
        # `from package import submodule as submodule` in the package itself names the submodule.
        circular = (state.name, "", name) in ev.memo.resolving
        value = None if circular and ev.program.exists(f"{target}.{name}") else module_value(ev, state, name)
        if value is not None:
            return value
    if ev.program.exists(f"{target}.{name}"):
        return module_object(ev, f"{target}.{name}")
    if frame is None:
        frame = Frame(state, None) if state is not None else None
        if frame is not None:
            frame.quiet = True
    if state is None:
        located = ev.program.find(target)
        compiled_package = located is None or located.compiled
        return (
            ev.external(f"{target}.{name}")
            if compiled_package
            else External(f"{target}.{name}", is_module=True)
        )
    assert frame is not None
    try:
        return ev.module_attribute(frame, state, name)
    except Raised:
        return UNKNOWN


def class_name_begins(ev: Interpreter, frame: Frame, name: str, line: int) -> tuple[object, ...] | None:
    """Begin assigning a name in a class body: until its key leaves `resolving`, it means what it did."""
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
