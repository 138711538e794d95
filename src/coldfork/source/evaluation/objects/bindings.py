"""Finds the value of a name from its bindings: from the last certain one, and later ones that may
replace it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.exports import as_catalogued, module_object
from coldfork.source.evaluation.objects.mutation import share
from coldfork.source.evaluation.running import Key
from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Binding, Node, decorators_of, line_of
from coldfork.source.values.kinds import UNKNOWN, ClassEnv, ClassRef, Env, Union, Value
from coldfork.source.values.rarer_kinds import Imported, LazyImport
from coldfork.source.values.unions import under, union

_DEEPEST_LOOKUP = 250


def bindings_before(entries: tuple[Node, ...], line: int) -> tuple[Node, ...]:
    """Return the bindings above a line; empty if there are none, or if no binding lies below the line."""
    if len(entries) < 2 or _line_of_binding(entries[-1]) < line:
        return ()
    before = entries[: bisect_left(entries, line, key=_line_of_binding)]
    return before if any(how != nodes.BY_TYPE for how, *_ in before) else ()


def _line_of_binding(entry: Node) -> int:
    return Binding._make(entry).line


def looked_up(
    ev: Interpreter, module: Module, cls: ClassRef | None, entries: tuple[Node, ...], key: Key
) -> Value | None:
    """Return the value of a name with these bindings; cached, unless its class is created by a
    single call.
    """
    lasting = cls is None or cls.env is None
    if lasting and (known := ev.definitions.values.get(key)) is not None:
        value, mask = known
        ev.program.consulted |= mask
        return value
    resolving = key if lasting else (cls, *key[2:])
    return remembered(ev, module, key, lambda: bound(ev, module, cls, entries, resolving), lasting)


def remembered(
    ev: Interpreter, module: Module, key: Key, work_out: Callable[[], Value | None], lasting: bool = True
) -> Value | None:
    """Return the value of a name; cached, unless it depends on unfinished results or is valid only for one
    call.
    """
    program = ev.program
    outer, program.consulted = program.consulted, module.bit
    mark = ev.journal.mark()
    ev.memo.begin_apart()
    # The effects of a module or class body happened before the call that is being followed.
    unknown_code, ev.unknown_code = ev.unknown_code, None
    try:
        value = work_out()
    finally:
        ev.unknown_code = unknown_code
        settled = ev.memo.end_apart() and lasting
    mask = program.consulted
    program.consulted = outer | mask
    if settled:
        ev.journal.keep(mark)
        ev.definitions.values[key] = value, ev.memo.same_set(mask)
    return value


def bound(
    ev: Interpreter,
    module: Module,
    cls: ClassRef | None,
    entries: tuple[Node, ...],
    resolving: tuple[object, ...],
) -> Value | None:
    """Return the value of a name's last certain binding, joined with those of later bindings that may replace
    it.
    """
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
            value = _value_of(ev, module, cls, env, entries[index], _name_in(resolving))
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
    """Return the name that a key of `resolving` stands for."""
    *_, name = resolving
    return name if isinstance(name, str) else _name_in(resolving[:-1])


def _earlier(
    ev: Interpreter,
    module: Module,
    cls: ClassRef | None,
    entries: tuple[Node, ...],
    resolving: tuple[object, ...],
) -> Value | None:
    """Return the value of a name that is being bound: from an earlier binding, or from outside the class
    body.
    """
    index = ev.memo.entry.get(resolving, 0)
    deeper = (*resolving[:-1], f"{resolving[-1]}", index)
    while deeper in ev.memo.resolving:  # this binding is being worked out too, so use the one before it
        index = ev.memo.entry[deeper]
        deeper = (*resolving[:-1], f"{resolving[-1]}", index)
    before = entries[:index]
    if any(entry[0] != nodes.BY_TYPE for entry in before):
        return bound(ev, module, cls, before, deeper)
    return None if cls is not None and all(entry[0] == nodes.BY_TYPE for entry in before) else UNKNOWN


def _off_path(value: Value) -> bool:
    return type(value) is Union and all(condition is not None for _, condition in value.alternatives)


def _value_of(
    ev: Interpreter, module: Module, cls: ClassRef | None, env: Env | None, entry: Node, name: str
) -> Value:
    how, payload, line, _guards = entry
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
        return module_object(ev, module.absolute(dotted if aliased else dotted.partition(".")[0], 0))
    if how == nodes.BY_FROM:
        source, level, imported = payload
        target = module.absolute(source, level)
        return as_catalogued(ev, module, f"{target}.{imported}", ev.imported(target, imported))
    if how == nodes.BY_LAZY_IMPORT:
        return LazyImport(module, Imported.of_module(*payload))
    if how == nodes.BY_LAZY_FROM:
        return LazyImport(module, Imported.of_name(*payload))
    if how == nodes.BY_VALUE:
        return share(ev.quietly(module, env, payload, line if outer is None else 0))
    return _after_statement(ev, module, env, payload, name)


def _after_statement(ev: Interpreter, module: Module, env: Env | None, statement: Node, name: str) -> Value:
    """Return the value that a variable has after a loop or another compound statement."""
    inner = Env(env)
    frame = Frame(module, inner)
    frame.quiet = True
    frame.before = line_of(statement) if env is None or env.outer is None else 0
    mark = ev.journal.mark()
    try:
        ev.execute(frame, (statement,))
    except Raised:
        ev.journal.keep(mark)
    finally:
        ev.journal.forget(mark)
    return inner.names.get(name, UNKNOWN)
