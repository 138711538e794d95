"""Runs statements over abstract values."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from coldfork.model.effects import Position
from coldfork.source.evaluation.flow.branches import BREAKS, CONTINUES, FALLS, RETURNS, Branches
from coldfork.source.evaluation.flow.truth_tests import both_ways, known_outcome, narrowing_test
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter, contain, fail_at
from coldfork.source.evaluation.objects import pytorch
from coldfork.source.evaluation.objects.assignment import assign, augmented, bind_name, defining_env, stored
from coldfork.source.evaluation.objects.mutation import forget
from coldfork.source.evaluation.objects.names import class_name_begins
from coldfork.source.evaluation.objects.protocols import enter_context
from coldfork.source.evaluation.statements.exceptions import raise_, try_
from coldfork.source.evaluation.statements.import_statements import from_, import_, lazy_from, lazy_import
from coldfork.source.evaluation.statements.loops import for_, while_
from coldfork.source.evaluation.statements.matching import match_
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Node, last_line, line_of
from coldfork.source.syntax.walk import walk
from coldfork.source.values.conditions import presumptions
from coldfork.source.values.kinds import NONE, UNKNOWN, Const, Instance, Property, Value
from coldfork.source.values.unions import needing


def _expr(ev: Interpreter, frame: Frame, node: Node) -> int:
    _, line, end_line, expression = node
    frame.at(line, end_line)
    ev.evaluate(frame, expression)
    return FALLS


def _assign(ev: Interpreter, frame: Frame, node: Node) -> int:
    _, line, end_line, targets, expression = node
    frame.at(line, end_line)
    value = _right_side(ev, frame, targets, expression, line)
    for target in targets:
        assign(ev, frame, target, value)
    return FALLS


def _right_side(ev: Interpreter, frame: Frame, targets: tuple[Node, ...], node: Node, line: int) -> Value:
    """Return the value to assign; in a class body, the targets have their earlier values meanwhile."""
    if frame.cls is None:
        return ev.evaluate(frame, node)
    names = [name for opcode, name, *_ in targets if opcode == nodes.TO_NAME]
    keys = [class_name_begins(ev, frame, name, line) for name in names]
    try:
        return ev.evaluate(frame, node)
    finally:
        for key in keys:
            if key is not None:
                del ev.memo.resolving[key]


def _augmented(ev: Interpreter, frame: Frame, node: Node) -> int:
    _, line, end_line, target, operator, value = node
    frame.at(line, end_line)
    augmented(ev, frame, target, operator, value)
    return FALLS


def _annotated(ev: Interpreter, frame: Frame, node: Node) -> int:
    _, line, end_line, target, annotation, value = node
    frame.at(line, end_line)
    if value is not None:
        assign(ev, frame, target, _right_side(ev, frame, (target,), value, line))
    if annotation is not None:
        _in_position(ev, frame, Position.ANNOTATION, frame.symbol, annotation)
    return FALLS


def _in_position(ev: Interpreter, frame: Frame, position: Position, symbol: str, node: Node) -> Value:
    """Evaluate an expression, and record its effects for this position of the body."""
    outer = frame.enter(position, symbol)
    try:
        return ev.evaluate(frame, node)
    finally:
        frame.leave(outer)


def _if(ev: Interpreter, frame: Frame, node: Node) -> int:
    _, line, test, body, orelse, span = node
    frame.at(line, last_line(span))
    outcome, holding, failing = narrowing_test(ev, frame, test)
    frame.gate += 1
    try:
        if outcome.nominal is True and outcome.when_false is None:
            return ev.execute(frame, body)
        if outcome.nominal is False and outcome.when_true is None:
            return ev.execute(frame, orelse)
        branches = Branches(ev, frame)
        asked = both_ways(ev, frame, test, span) if outcome.nominal is None else {}
        if (known := known_outcome(frame, asked)) is not None:
            return ev.execute(frame, body if known else orelse)
        if outcome.nominal is not False:
            presumes = presumptions(outcome.when_false)
            branches.follow(lambda: ev.execute(frame, body), asked.get(True), True, presumes, holding)
        else:
            branches.follow(lambda: ev.execute(frame, body), outcome.when_true, False, (), holding)
        if outcome.nominal is not True:
            presumes = presumptions(outcome.when_true)
            if orelse:
                branches.follow(lambda: ev.execute(frame, orelse), asked.get(False), True, presumes, failing)
            else:
                branches.pass_by(asked.get(False), True, failing, presumes)
        elif not orelse:
            branches.pass_by(outcome.when_false, False, failing)
        else:
            branches.follow(lambda: ev.execute(frame, orelse), outcome.when_false, False, (), failing)
        return branches.leave()
    finally:
        frame.gate -= 1


def _with(ev: Interpreter, frame: Frame, node: Node) -> int:
    _, line, items, body = node
    restored: tuple[str | None] | None = None
    for context, target in items:
        frame.at(line, line)
        entered = ev.evaluate(frame, context)
        value = enter_context(ev, frame, entered)
        if target is not None:
            assign(ev, frame, target, value)
        before = pytorch.entered_device(ev, entered)
        restored = restored or before
    try:
        return ev.execute(frame, body)
    finally:
        if restored is not None:
            pytorch.set_default_device(ev, *restored)


def _return(ev: Interpreter, frame: Frame, node: Node) -> int:
    _, line, end_line, expression = node
    frame.at(line, end_line)
    value = NONE if expression is None else ev.evaluate(frame, expression)
    frame.returns.append((needing(value, *frame.conditions), frame.off))
    if frame.off is None:
        frame.exit_musts.append(set(frame.must))
    return RETURNS


def _def(ev: Interpreter, frame: Frame, node: Node) -> int:
    _, line, name, decorators, header, _ = node
    decorating = ev.evaluate_decorators(frame, decorators, name) if decorators else ()
    if header is not None:
        frame.at(line, line)
        defaults, annotations = header
        for default in defaults:
            _in_position(ev, frame, Position.DEFAULT_ARGUMENT, name, default)
        for annotation in annotations:
            _in_position(ev, frame, Position.ANNOTATION, name, annotation)
    kept = stored(frame, name)
    if decorators or kept:
        value: Value = ev.definitions.function(frame.module, node, defining_env(frame), frame.cls)
        if decorating:
            value = ev.apply_decorators(frame, value, decorating, name)
        if kept:
            bind_name(ev, frame, name, value)
    return FALLS


def _global(ev: Interpreter, frame: Frame, node: Node) -> int:
    _, _, names = node
    if not frame.toplevel:
        frame.globals = frame.globals | set(names)
    return FALLS


def _nonlocal(ev: Interpreter, frame: Frame, node: Node) -> int:
    _, _, names = node
    frame.nonlocals = frame.nonlocals | set(names)
    return FALLS


def _delete(ev: Interpreter, frame: Frame, node: Node) -> int:
    _, line, targets = node
    frame.at(line, line)
    for target in targets:
        if target[0] == nodes.INDEX:
            _, owner, index, _ = target
            receiver, key = ev.evaluate(frame, owner), ev.evaluate(frame, index)
            if isinstance(receiver, Instance):
                ev.call(frame, ev.attribute(frame, receiver, "__delitem__"), (key,))
            elif not ev.presumes:
                forget(receiver)
        elif target[0] == nodes.ATTR:
            _, owner, attribute, _ = target
            receiver = ev.evaluate(frame, owner)
            if isinstance(receiver, Instance):
                ev.call(frame, ev.attribute(frame, receiver, "__delattr__"), (Const(attribute),))
                held = ev.member(receiver.cls, attribute)
                if held is not None and isinstance(held.value, Property) and held.value.deleter is not None:
                    ev.call(frame, held.value.deleter, (receiver,))
                elif held is not None and isinstance(held.value, Instance):
                    ev.call(frame, ev.attribute(frame, held.value, "__delete__"), (receiver,))
    return FALLS


def _break(ev: Interpreter, frame: Frame, node: Node) -> int:
    frame.loop_musts.append(set(frame.must))
    if not ev.presumes and frame.env is not None:
        frame.left_with.append((dict(frame.env.names), set(frame.must)))
    return BREAKS


def _continue(ev: Interpreter, frame: Frame, node: Node) -> int:
    frame.loop_musts.append(set(frame.must))
    return CONTINUES


def _assert(ev: Interpreter, frame: Frame, node: Node) -> int:
    _, line, test, span = node
    frame.at(line, last_line(span))
    outcome, holding, _ = narrowing_test(ev, frame, test)
    if outcome.nominal is False and outcome.when_true is None:
        raise Raised("AssertionError")
    if holding and frame.env is not None:
        frame.env.names.update(holding)
    return FALLS


def _loads(ev: Interpreter, frame: Frame, node: Node) -> int:
    """Read the dotted names in annotations, because this may run a module's `__getattr__`."""
    _, _, names = node
    for dotted, line in names:
        frame.at(line, line)
        head, *rest = dotted.split(".")
        expression: Node = (nodes.NAME, head, line)
        for part in rest:
            expression = (nodes.ATTR, expression, part, line)
        _in_position(ev, frame, Position.ANNOTATION, frame.symbol, expression)
    return FALLS


def _fault(ev: Interpreter, frame: Frame, node: Node) -> int:
    """Report a statement that coldfork failed to read."""
    _, line, fault = node
    frame.at(line, line)
    fail_at(ev, frame.module.name, frame.symbol, line, fault)
    return FALLS


def _main(ev: Interpreter, frame: Frame, node: Node) -> int:
    """Run an `if __name__ == "__main__"` block, if the module is run as a program."""
    _, _, body = node
    return ev.execute(frame, body) if frame.module.is_main else FALLS


EXECUTE: dict[int, Callable[[Interpreter, Frame, Node], int]] = {
    nodes.EXPR: _expr,
    nodes.ASSIGN: _assign,
    nodes.AUGMENTED: _augmented,
    nodes.ANNOTATED: _annotated,
    nodes.IF: _if,
    nodes.FOR: for_,
    nodes.ASYNC_FOR: for_,
    nodes.WHILE: while_,
    nodes.TRY: try_,
    nodes.WITH: _with,
    nodes.ASYNC_WITH: _with,
    nodes.RETURN: _return,
    nodes.RAISE: raise_,
    nodes.IMPORT: import_,
    nodes.FROM: from_,
    nodes.LAZY_IMPORT: lazy_import,
    nodes.LAZY_FROM: lazy_from,
    nodes.DEF: _def,
    nodes.CLASS: lambda ev, frame, node: ev.define_class(frame, node),
    nodes.GLOBAL: _global,
    nodes.NONLOCAL: _nonlocal,
    nodes.BREAK: _break,
    nodes.CONTINUE: _continue,
    nodes.ASSERT: _assert,
    nodes.MATCH: match_,
    nodes.DELETE: _delete,
    nodes.LOADS: _loads,
    nodes.FAULT: _fault,
    nodes.MAIN: _main,
}


def execute_body(ev: Interpreter, frame: Frame, block: Block) -> int:
    """Run the statements of a module or class; after a fault in coldfork itself, the next statement still
    runs.
    """
    for node in block:
        before = frame.state()
        try:
            ended = EXECUTE[node[0]](ev, frame, node)
        except Raised:
            raise
        except Exception as problem:
            contain(ev, frame, problem, line_of(node))
            frame.go_back(before)
            for name in _bound(node):
                if stored(frame, name):
                    bind_name(ev, frame, name, UNKNOWN)
            continue
        if ended:
            return ended
    return FALLS


def _bound(statement: Node) -> Iterator[str]:
    """Yield the names that a statement may bind."""
    for node in walk((statement,)):
        if node[0] in (nodes.TO_NAME, nodes.WALRUS):
            _, name, *_ = node
            yield name
        elif node[0] in (nodes.DEF, nodes.CLASS):
            _, _, name, *_ = node
            yield name
