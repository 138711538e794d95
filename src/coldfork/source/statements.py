"""Run statements over abstract values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from coldfork.model.positions import Position
from coldfork.source import ir
from coldfork.source.arms import BREAKS, CONTINUES, FALLS, RAISES, RETURNS, Arms
from coldfork.source.assign import assign, augmented, bind_name, defining_env, stored
from coldfork.source.branches import Test, handles, quoted, test_of, tested
from coldfork.source.consume import enter_context, iterate
from coldfork.source.ir import Node
from coldfork.source.lookup import class_name_begins, imported_value, module_object, star_names
from coldfork.source.values import (
    NONE,
    UNKNOWN,
    ClassRef,
    Condition,
    Const,
    Instance,
    Union,
    Value,
    alternatives,
    union,
)
from coldfork.source.wakes import Failure, Frame, Raised

if TYPE_CHECKING:
    from coldfork.source.evaluator import Evaluator


def _at(frame: Frame, node: Node) -> None:
    frame.line = node[1]
    frame.end_line = node[2]
    frame.column = 0


def _expr(ev: Evaluator, frame: Frame, node: Node) -> int:
    _at(frame, node)
    ev.evaluate(frame, node[3])
    return FALLS


def _assign(ev: Evaluator, frame: Frame, node: Node) -> int:
    _at(frame, node)
    value = _right_side(ev, frame, node[3], node[4], node[1])
    for target in node[3]:
        assign(ev, frame, target, value)
    return FALLS


def _right_side(ev: Evaluator, frame: Frame, targets: tuple[Node, ...], node: Node, line: int) -> Value:
    """The value to assign; in a class body the names assigned to are not bound yet while it is evaluated."""
    if frame.cls is None:
        return ev.evaluate(frame, node)
    keys = [class_name_begins(ev, frame, t[1], line) for t in targets if t[0] == ir.TO_NAME]
    try:
        return ev.evaluate(frame, node)
    finally:
        for key in keys:
            if key is not None:
                del ev.resolving[key]


def _augmented(ev: Evaluator, frame: Frame, node: Node) -> int:
    _at(frame, node)
    augmented(ev, frame, node[3], node[4], ev.evaluate(frame, node[5]))
    return FALLS


def _annotated(ev: Evaluator, frame: Frame, node: Node) -> int:
    _at(frame, node)
    _, _, _, target, annotation, value = node
    if value is not None:
        assign(ev, frame, target, _right_side(ev, frame, (target,), value, node[1]))
    if annotation is not None:
        _in_position(ev, frame, Position.ANNOTATION, frame.symbol, annotation)
    return FALLS


def _in_position(ev: Evaluator, frame: Frame, position: Position, symbol: str, node: Node) -> Value:
    """Evaluate an expression as what stands at a given position."""
    outer = frame.position, frame.symbol
    if frame.toplevel:
        frame.position, frame.symbol = position, symbol
    try:
        return ev.evaluate(frame, node)
    finally:
        frame.position, frame.symbol = outer


def _test(ev: Evaluator, frame: Frame, node: Node) -> tuple[Test, dict[str, Value], dict[str, Value]]:
    """The outcome of a test, and what it tells about a variable where it holds and where it does not."""
    outcome = test_of(tested(ev, frame, ev.evaluate(frame, node)))
    name = _union_variable(frame, node)
    if name is None or outcome.nominal is not None:
        return outcome, {}, {}
    assert frame.env is not None
    value = frame.env.names[name]
    holds: list[tuple[Value, Condition | None]] = []
    fails: list[tuple[Value, Condition | None]] = []
    quiet = Frame(frame.module, frame.env, frame.function)
    quiet.quiet = True
    outer = frame.env.names
    for option, condition in alternatives(value):
        frame.env.names = {**outer, name: option}
        try:
            told = test_of(ev.evaluate(quiet, node)).nominal
        except Raised:
            told = None
        if told is not False:
            holds.append((option, condition))
        if told is not True:
            fails.append((option, condition))
    frame.env.names = outer
    return outcome, _narrowed(name, holds), _narrowed(name, fails)


def _narrowed(name: str, options: list[tuple[Value, Condition | None]]) -> dict[str, Value]:
    if not options:
        return {}
    if len(options) == 1 and options[0][1] is None:
        return {name: options[0][0]}
    return {name: Union(tuple(options))}


def _union_variable(frame: Frame, node: Node) -> str | None:
    """A local variable in a test that may be one of several values."""
    if frame.env is None or frame.toplevel:
        return None
    pending = [node]
    while pending:
        current = pending.pop()
        if current[0] == ir.NAME and type(frame.env.names.get(current[1])) is Union:
            name: str = current[1]
            return name
        if current[0] == ir.COMPARE:
            pending += [current[1], *current[3]]
        elif current[0] == ir.NOT:
            pending.append(current[1])
        elif current[0] == ir.BOOL:
            pending += current[2]
    return None


def _if(ev: Evaluator, frame: Frame, node: Node) -> int:
    _, line, test, body, orelse, span = node
    frame.line, frame.end_line, frame.column = line, span[2], 0
    outcome, holding, failing = _test(ev, frame, test)
    frame.gate += 1
    try:
        if outcome.nominal is True and outcome.when_false is None:
            return ev.execute(frame, body)
        if outcome.nominal is False and outcome.when_true is None:
            return ev.execute(frame, orelse)
        arms = Arms(ev, frame)
        if outcome.nominal is not False:
            presumes = outcome.when_false.presumes if outcome.when_false is not None else ""
            condition = quoted(frame.module, span, False) if outcome.nominal is None else None
            arms.follow(lambda: ev.execute(frame, body), condition, True, presumes, holding)
        else:
            arms.follow(lambda: ev.execute(frame, body), outcome.when_true, False, "", holding)
        if outcome.nominal is not True:
            presumes = outcome.when_true.presumes if outcome.when_true is not None else ""
            condition = quoted(frame.module, span, True) if outcome.nominal is None else None
            arms.follow(lambda: ev.execute(frame, orelse), condition, True, presumes, failing)
        else:
            arms.follow(lambda: ev.execute(frame, orelse), outcome.when_false, False, "", failing)
        return _ended(arms)
    finally:
        frame.gate -= 1


def _ended(arms: Arms) -> int:
    code = arms.join()
    if code == RAISES:
        raise Raised(arms.raised)
    return code


def _for(ev: Evaluator, frame: Frame, node: Node) -> int:
    _, line, target, iterable, body, orelse = node
    frame.line, frame.end_line, frame.column = line, line, 0
    value = ev.evaluate(frame, iterable)
    items, exact = iterate(ev, frame, value)
    before = frame.conditions
    if not exact:
        words = f"the loop at line {line} of {frame.module.name} runs"
        arms = Arms(ev, frame)

        def around() -> int:
            assign(ev, frame, target, union(items) if items else UNKNOWN)
            return ev.execute(frame, body)

        arms.follow(around, Condition(words=words), True)
        arms.follow(lambda: FALLS, None, True)
        ended = arms.join()
        if ended == RETURNS:
            return RETURNS
        frame.conditions = before
    else:
        for item in items:
            assign(ev, frame, target, item)
            ended = ev.execute(frame, body)
            if ended == BREAKS:
                return FALLS
            if ended == RETURNS:
                return RETURNS
        if len(items) and frame.conditions != before and not frame.returns:
            frame.conditions = before
    return ev.execute(frame, orelse)


def _while(ev: Evaluator, frame: Frame, node: Node) -> int:
    _, line, test, body, orelse, span = node
    frame.line, frame.end_line, frame.column = line, span[2], 0
    outcome, holding, _failing = _test(ev, frame, test)
    if outcome.nominal is False and outcome.when_true is None:
        return ev.execute(frame, orelse)
    before = frame.conditions
    if outcome.nominal is True:
        ended = ev.execute(frame, body)
        if ended == RETURNS:
            return RETURNS
        frame.conditions = before
        return FALLS
    arms = Arms(ev, frame)
    arms.follow(lambda: ev.execute(frame, body), quoted(frame.module, span, False), True, "", holding)
    arms.follow(lambda: FALLS, None, True)
    arms.join()
    frame.conditions = before
    return FALLS


def _try(ev: Evaluator, frame: Frame, node: Node) -> int:
    _, line, body, handlers, orelse, final = node
    exits = len(frame.exit_musts)
    try:
        handled = False
        if handlers:
            ended, handled = _try_body(ev, frame, node)
        else:
            ended = ev.execute(frame, body)
        if ended == FALLS and orelse and not handled:
            ended = ev.execute(frame, orelse)
    except Raised:
        if final:
            ev.execute(frame, final)
        raise
    if final:
        before = set(frame.must)
        finished = ev.execute(frame, final)
        for must in frame.exit_musts[exits:]:  # a `return` inside leaves through `finally` too
            must |= frame.must - before
        ended = finished or ended
    return ended


def _try_body(ev: Evaluator, frame: Frame, node: Node) -> tuple[int, bool]:
    """Run the block and what may handle its failures; how it ended, and whether a handler was sure to run."""
    _, line, body, handlers, _, _ = node
    before_conditions = frame.conditions
    before_must = set(frame.must)
    before_names = dict(frame.env.names) if frame.env is not None else {}
    ev.failing.append([])
    frame.tries += 1
    raised: str | None = None
    ended = FALLS
    try:
        ended = ev.execute(frame, body)
    except Raised as problem:
        raised = problem.kind
    finally:
        frame.tries -= 1
        failures = ev.failing.pop()
    if raised is not None:
        for kinds, name, block, _ in handlers:
            if handles(kinds, raised):
                if name and frame.env is not None:
                    frame.env.names[name] = UNKNOWN
                frame.conditions = before_conditions
                return ev.execute(frame, block), True
        raise Raised(raised)
    arms = Arms(ev, frame)
    arms.follow(lambda: ended, None, True)
    after_must = frame.must
    for kinds, name, block, handler_line in handlers:
        condition, even = _failure(frame, failures, kinds, line)
        arms.conditions = before_conditions
        arms.must = before_must
        narrowed: dict[str, Value] = {**before_names}
        if name:
            narrowed[name] = UNKNOWN

        def handle(block: tuple[Node, ...] = block) -> int:
            return ev.execute(frame, block)

        arms.follow(handle, condition, even, "", narrowed)
    arms.conditions = before_conditions
    arms.must = before_must
    frame.must = after_must
    return _ended(arms), False


def _failure(frame: Frame, failures: list[Failure], kinds: Node | None, line: int) -> tuple[Condition, bool]:
    """What would have to fail for a handler to run, and whether that is as likely as not."""
    caught = [failure for failure in failures if handles(kinds, failure.kind)]
    caught.sort(key=lambda failure: not failure.even)
    if caught:
        return caught[0].condition, caught[0].even
    return Condition(words=f"the `try` at line {line} of {frame.module.name} fails"), False


def _with(ev: Evaluator, frame: Frame, node: Node) -> int:
    _, line, items, body = node
    for context, target in items:
        frame.line, frame.end_line, frame.column = line, line, 0
        value = enter_context(ev, frame, ev.evaluate(frame, context))
        if target is not None:
            assign(ev, frame, target, value)
    return ev.execute(frame, body)


def _return(ev: Evaluator, frame: Frame, node: Node) -> int:
    _at(frame, node)
    value = NONE if node[3] is None else ev.evaluate(frame, node[3])
    frame.returns.append((value, frame.off))
    if frame.off is None:
        frame.exit_musts.append(set(frame.must))
    return RETURNS


def _raise(ev: Evaluator, frame: Frame, node: Node) -> int:
    frame.line, frame.end_line, frame.column = node[1], node[1], 0
    kind = "other"
    if node[2] is not None:
        value = ev.evaluate(frame, node[2])
        if isinstance(value, ClassRef):
            ev.call(frame, value)
        named = node[2][1] if node[2][0] == ir.CALL else node[2]
        if named[0] == ir.NAME:
            kind = named[1]
    raise Raised(kind)


def _import(ev: Evaluator, frame: Frame, node: Node) -> int:
    _at(frame, node)
    for name, alias in node[3]:
        ev.imports(frame, name)
        bound = alias or name.partition(".")[0]
        if stored(frame, bound):
            bind_name(ev, frame, bound, module_object(ev, name if alias else bound))
    return FALLS


def _from(ev: Evaluator, frame: Frame, node: Node) -> int:
    _, line, end, source, level, names = node
    _at(frame, node)
    target = frame.module.absolute(source, level)
    ev.imports(frame, target)
    state = ev.program.module(target)
    for name, alias in names:
        if name == "*":
            _import_star(ev, frame, target)
            continue
        bound = state is not None and name in state.summary.binds
        if bound and state is frame.module and ev.program.exists(f"{target}.{name}"):
            bound = False  # `from . import submodule` in the package itself is what binds the name
        if not bound and ev.program.exists(f"{target}.{name}"):
            ev.imports(frame, f"{target}.{name}")
        elif not bound and state is not None and level and not ev.program.exists(f"{target}.{name}"):
            ev.absent(frame, state, name)
        kept = stored(frame, alias or name)
        if kept or not bound:
            value = imported_value(ev, target, name, frame)
            if kept:
                bind_name(ev, frame, alias or name, value)
    return FALLS


def _import_star(ev: Evaluator, frame: Frame, target: str) -> None:
    """Bring a star import's submodules and, in a function, its names in."""
    for name in star_names(ev, target):
        state = ev.program.module(target)
        if state is not None and name not in state.summary.binds and ev.program.exists(f"{target}.{name}"):
            ev.imports(frame, f"{target}.{name}")


def _def(ev: Evaluator, frame: Frame, node: Node) -> int:
    _, line, name, decorators, header, _ = node
    if header is not None:
        frame.line, frame.end_line, frame.column = line, line, 0
        for default in header[0]:
            _in_position(ev, frame, Position.DEFAULT_ARGUMENT, name, default)
        for annotation in header[1]:
            _in_position(ev, frame, Position.ANNOTATION, name, annotation)
    kept = stored(frame, name)
    if decorators or kept:
        value: Value = ev.program.function(frame.module, node, defining_env(frame), frame.cls)
        if decorators:
            value = ev.apply_decorators(frame, value, decorators, name)
        if kept:
            bind_name(ev, frame, name, value)
    return FALLS


def _class(ev: Evaluator, frame: Frame, node: Node) -> int:
    return ev.define_class(frame, node)


def _global(ev: Evaluator, frame: Frame, node: Node) -> int:
    if not frame.toplevel:
        frame.globals = frame.globals | set(node[2])
    return FALLS


def _nonlocal(ev: Evaluator, frame: Frame, node: Node) -> int:
    frame.nonlocals = frame.nonlocals | set(node[2])
    return FALLS


def _delete(ev: Evaluator, frame: Frame, node: Node) -> int:
    frame.line, frame.end_line, frame.column = node[1], node[1], 0
    for target in node[2]:
        if target[0] == ir.INDEX:
            receiver, key = ev.evaluate(frame, target[1]), ev.evaluate(frame, target[2])
            if isinstance(receiver, Instance):
                ev.call(frame, ev.attribute(frame, receiver, "__delitem__"), (key,))
        elif target[0] == ir.ATTR:
            receiver = ev.evaluate(frame, target[1])
            if isinstance(receiver, Instance):
                ev.call(frame, ev.attribute(frame, receiver, "__delattr__"), (Const(target[2]),))
    return FALLS


def _nothing(ev: Evaluator, frame: Frame, node: Node) -> int:
    return FALLS


def _break(ev: Evaluator, frame: Frame, node: Node) -> int:
    return BREAKS


def _continue(ev: Evaluator, frame: Frame, node: Node) -> int:
    return CONTINUES


def _assert(ev: Evaluator, frame: Frame, node: Node) -> int:
    frame.line, frame.end_line, frame.column = node[1], node[3][2], 0
    outcome, holding, _ = _test(ev, frame, node[2])
    if outcome.nominal is False and outcome.when_true is None:
        raise Raised("AssertionError")
    if holding and frame.env is not None:
        frame.env.names.update(holding)
    return FALLS


def _match(ev: Evaluator, frame: Frame, node: Node) -> int:
    _, line, subject, cases = node
    frame.line, frame.end_line, frame.column = line, line, 0
    value = ev.evaluate(frame, subject)
    arms = Arms(ev, frame)
    settled = False
    for wild, pattern, guard, block, names, case_line in cases:
        condition: Condition | None = Condition(words=f"the case at line {case_line} of {frame.module.name} matches")
        if pattern is not None and guard is None:
            wanted = ev.evaluate(frame, pattern)
            if isinstance(wanted, Const) and isinstance(value, Const):
                if wanted != value:
                    continue
                condition, settled = None, True
        if wild:
            settled = True
        narrowed: dict[str, Value] = {name: UNKNOWN for name in names}

        def follow(block: tuple[Node, ...] = block, guard: Node | None = guard) -> int:
            if guard is not None:
                ev.evaluate(frame, guard)
            return ev.execute(frame, block)

        arms.follow(follow, condition, True, "", narrowed)
        if settled:
            break
    if not settled:
        arms.follow(lambda: FALLS, None, True)
    return _ended(arms)


def _loads(ev: Evaluator, frame: Frame, node: Node) -> int:
    """Dotted names that annotations read: a module's `__getattr__` may stand behind one."""
    for dotted, line in node[2]:
        frame.line, frame.end_line, frame.column = line, line, 0
        head, *rest = dotted.split(".")
        expression: Node = (ir.NAME, head, line)
        for part in rest:
            expression = (ir.ATTR, expression, part, line)
        _in_position(ev, frame, Position.ANNOTATION, frame.symbol, expression)
    return FALLS


EXECUTE: dict[int, Callable[[Evaluator, Frame, Node], int]] = {
    ir.EXPR: _expr,
    ir.ASSIGN: _assign,
    ir.AUGMENTED: _augmented,
    ir.ANNOTATED: _annotated,
    ir.IF: _if,
    ir.FOR: _for,
    ir.ASYNC_FOR: _for,
    ir.WHILE: _while,
    ir.TRY: _try,
    ir.WITH: _with,
    ir.ASYNC_WITH: _with,
    ir.RETURN: _return,
    ir.RAISE: _raise,
    ir.IMPORT: _import,
    ir.FROM: _from,
    ir.DEF: _def,
    ir.CLASS: _class,
    ir.GLOBAL: _global,
    ir.NONLOCAL: _nonlocal,
    ir.BREAK: _break,
    ir.CONTINUE: _continue,
    ir.ASSERT: _assert,
    ir.MATCH: _match,
    ir.DELETE: _delete,
    ir.LOADS: _loads,
}
