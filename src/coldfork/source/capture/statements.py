"""Statements of code around and inside a capture."""

from __future__ import annotations

from collections.abc import Callable

from coldfork.model.captures import CaptureKind
from coldfork.source.capture import lazy_initialisation
from coldfork.source.capture.binding import assign
from coldfork.source.capture.branches import Way, follow_ways
from coldfork.source.capture.containers import forget_contents
from coldfork.source.capture.device import synchronisation
from coldfork.source.capture.external_calls import captures
from coldfork.source.capture.following import Following
from coldfork.source.capture.matching import match_
from coldfork.source.capture.objects import ANY, Constant, Env, Object
from coldfork.source.capture.state import FIXED
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Node
from coldfork.source.syntax.quoting import text_of
from coldfork.source.values.conditions import Condition

_MOST_ITEMS = 8


def execute(f: Following, block: Block) -> bool:
    """Follow statements; True when nothing behind them is reached."""
    for index, node in enumerate(block):
        f.run.count_statement()
        frame = f.frame
        op = node[0]
        if op != nodes.TRY:
            frame.line = frame.end = node[1]
        if op == nodes.IF:
            lazy = lazy_initialisation.recognise(f, node, block[index + 1 :])
            if lazy is not None:
                if lazy_initialisation.follow(f, lazy):
                    return True
                if lazy.rest:
                    return False
                continue
        handler = _STATEMENTS.get(op)
        if handler is not None and handler(f, node):
            return True
    return False


# -- branches -------------------------------------------------------------------------------------------


def _if(f: Following, node: Node) -> bool:
    _, _, test, body, orelse, span = node
    value = f.evaluate(test)
    sync = synchronisation.of_truth(value, text_of(test))
    if sync is not None and f.run.region is not None:
        words = (Condition(words=sync.condition),) if sync.condition else ()
        f.run.observe(CaptureKind.SYNCHRONISES, f"if {text_of(test)}:", extra=words)
    truth = f.truth(value)
    if truth is not None:
        return f.execute(body if truth else orelse)
    return follow_ways(f, [Way(f.condition(span), body), Way(f.condition(span, True), orelse)])


def _for(f: Following, node: Node) -> bool:
    _, line, target, iterable, body, orelse = node
    value = f.evaluate(iterable)
    level = f.level(iterable)
    items = (value.elements() or value.items()) if type(value) is Object else []
    exact = bool(items) and type(value) is Object and not value.before
    if _counts(iterable):
        exact, items = True, [Object("i", False)]
    if not items and type(value) is Object:
        items = [value.part(ANY)]
    frame = f.frame
    outer = frame.conditions
    if not exact:
        words = f"the loop at line {line} of {frame.func.module.name} runs"
        frame.conditions = (*outer, Condition(words=words))
    for item in items[:_MOST_ITEMS] or [f.fresh("item")]:
        assign(f, target, item, level)
        if f.execute(body):
            break
    frame.conditions = outer
    f.execute(orelse)
    return False


def _counts(iterable: Node) -> bool:
    """True for `range(3)`."""
    return bool(
        iterable[0] == nodes.CALL
        and iterable[1][:2] == (nodes.NAME, "range")
        and iterable[2]
        and all(one[0] == nodes.CONST and isinstance(one[1], int) and one[1] > 0 for one in iterable[2][-1:])
    )


def _while(f: Following, node: Node) -> bool:
    _, _, test, body, orelse, span = node
    value = f.truth(f.evaluate(test))
    if value is not False:
        frame = f.frame
        outer = frame.conditions
        if value is None:
            frame.conditions = (*outer, f.condition(span))
        f.execute(body)
        frame.conditions = outer
    return f.execute(orelse)


def _try(f: Following, node: Node) -> bool:
    _, _, body, handlers, orelse, final = node
    left = f.execute(body)
    if not left:
        left = f.execute(orelse)
    frame = f.frame
    outer = frame.conditions
    region = f.run.region
    for _kind, name, block, line in handlers:
        words = f"the try above line {line} of {frame.func.module.name} fails"
        frame.conditions = (*outer, Condition(words=words))
        if name:
            frame.env.names[name] = f.fresh(name)
        f.run.region = region
        left = f.execute(block) and left
    f.run.region = region
    frame.conditions = outer
    return f.execute(final) or left


def _with(f: Following, node: Node) -> bool:
    _, _, items, body = node
    region = f.run.region
    for context, target in items:
        value = f.evaluate(context)
        if captures(value):
            _, _, _, _, line, column, end = (
                context if context[0] == nodes.CALL else (0, 0, 0, 0, node[1], 0, node[1])
            )
            f.begin(line, column, end)
        if target is not None:
            assign(f, target, value, FIXED)
    left = f.execute(body)
    if region is None and f.run.region is not None:
        f.end()
    return left


# -- assignments ----------------------------------------------------------------------------------------


def _assign(f: Following, node: Node) -> bool:
    _, _, end, targets, expression = node
    value, level = f.evaluate(expression), f.level(expression)
    f.frame.line, f.frame.end = node[1], end
    for target in targets:
        assign(f, target, value, level)
        if target[0] == nodes.TO_NAME:
            source = (
                lazy_initialisation.access(f, expression)
                if expression[0] in (nodes.ATTR, nodes.CALL)
                else None
            )
            f.frame.aliases.pop(target[1], None)
            if source is not None:
                f.frame.aliases[target[1]] = source
    return False


def _augmented(f: Following, node: Node) -> bool:
    _, _, _, target, _, value = node
    f.evaluate(value)
    if target[0] == nodes.TO_NAME and target[1] not in f.frame.env.globals:
        env = f.frame.env
        env.levels[target[1]] = max(env.levels.get(target[1], FIXED), f.level(value))
        held = env.names.get(target[1])
        if isinstance(held, Constant) or (type(held) is Object and held.kind == "tuple"):
            env.names[target[1]] = f.fresh(target[1])
        elif held is not None:
            forget_contents([held])
    elif target[0] in (nodes.TO_ATTR, nodes.TO_INDEX):
        f.evaluate(target[1])
    return False


def _delete(f: Following, node: Node) -> bool:
    _, _, targets = node
    for target in targets:
        if target[0] == nodes.INDEX:
            forget_contents([f.evaluate(target[1])])
    return False


def _annotated(f: Following, node: Node) -> bool:
    _, _, _, target, _, value = node
    if value is not None:
        assign(f, target, f.evaluate(value), f.level(value))
    return False


# -- the rest -------------------------------------------------------------------------------------------


def _expr(f: Following, node: Node) -> bool:
    f.evaluate(node[3])
    return False


def _return(f: Following, node: Node) -> bool:
    value = Constant(None) if node[3] is None else f.evaluate(node[3])
    f.frame.returns.append((value, f.level(node[3])))
    return True


def _raise(f: Following, node: Node) -> bool:
    return True


def _def(f: Following, node: Node) -> bool:
    env: Env = f.frame.env
    made = f.names.function(f.frame.func.module, node, env, None)
    env.names[node[2]] = made if made is not None else f.fresh(node[2])
    if made is not None:
        f.run.nested.append(made)
    return False


def _import(f: Following, node: Node) -> bool:
    for dotted, alias in node[3]:
        name = alias or dotted.partition(".")[0]
        f.frame.env.names[name] = f.names.imported(dotted if alias else name)
    return False


def _from(f: Following, node: Node) -> bool:
    _, _, _, source, level, names = node
    target = f.frame.func.module.absolute(source, level)
    for name, alias in names:
        if name != "*":
            f.frame.env.names[alias or name] = f.names.from_module(target, name)
    return False


def _global(f: Following, node: Node) -> bool:
    f.frame.env.globals.update(node[2])
    return False


def _class(f: Following, node: Node) -> bool:
    f.frame.env.names[node[2]] = f.fresh(node[2])
    return False


def _assert(f: Following, node: Node) -> bool:
    f.evaluate(node[2])
    return False


_STATEMENTS: dict[int, Callable[[Following, Node], bool]] = {
    nodes.IF: _if, nodes.FOR: _for, nodes.ASYNC_FOR: _for,
    nodes.WHILE: _while, nodes.TRY: _try, nodes.MATCH: match_,
    nodes.WITH: _with, nodes.ASYNC_WITH: _with, nodes.ASSIGN: _assign, nodes.AUGMENTED: _augmented,
    nodes.ANNOTATED: _annotated, nodes.EXPR: _expr,
    nodes.RETURN: _return, nodes.RAISE: _raise, nodes.DEF: _def,
    nodes.CLASS: _class, nodes.IMPORT: _import,
    nodes.FROM: _from, nodes.GLOBAL: _global, nodes.ASSERT: _assert,
    nodes.DELETE: _delete, nodes.BREAK: _raise, nodes.CONTINUE: _raise,
}  # fmt: skip
