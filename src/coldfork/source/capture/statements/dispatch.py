"""Statements of code around and inside a capture."""

from __future__ import annotations

from collections.abc import Callable

from coldfork.source.capture.calls.external_calls import captures
from coldfork.source.capture.calls.recording import ask_truth
from coldfork.source.capture.contents.containers import forget_contents
from coldfork.source.capture.following import Following
from coldfork.source.capture.objects import Env, Object, Value
from coldfork.source.capture.state import FIXED
from coldfork.source.capture.statements import lazy_initialisation
from coldfork.source.capture.statements.binding import assign
from coldfork.source.capture.statements.branches import Way, follow_ways
from coldfork.source.capture.statements.loops import for_, while_
from coldfork.source.capture.statements.matching import match_
from coldfork.source.semantics import constants
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Node, line_of, place_of
from coldfork.source.syntax.walk import children
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import Const


def execute(f: Following, block: Block) -> bool:
    """Follow statements; True when nothing behind them is reached."""
    for index, node in enumerate(block):
        f.run.count_statement()
        frame = f.frame
        op = node[0]
        if op != nodes.TRY:
            frame.line = frame.end = line_of(node)
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
    truth = ask_truth(f, test, "if ", ":")
    if truth is not None:
        return f.execute(body if truth else orelse)
    return follow_ways(f, [Way(f.condition(span), body), Way(f.condition(span, True), orelse)])


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
    _, line, items, body = node
    region = f.run.region
    for context, target in items:
        value = f.evaluate(context)
        if captures(value):
            f.begin(*(place_of(context) if context[0] == nodes.CALL else (line, 0, line)))
        if target is not None:
            assign(f, target, value, FIXED)
    left = f.execute(body)
    if region is None and f.run.region is not None:
        f.end()
    return left


# -- assignments ----------------------------------------------------------------------------------------


def _assign(f: Following, node: Node) -> bool:
    _, line, end, targets, expression = node
    value, level = f.evaluate(expression), f.level(expression)
    f.frame.line, f.frame.end = line, end
    for target in targets:
        assign(f, target, value, level)
        if target[0] == nodes.TO_NAME:
            _, name = target
            asks = expression[0] in (nodes.ATTR, nodes.CALL)
            source = lazy_initialisation.access(f, expression) if asks else None
            f.frame.aliases.pop(name, None)
            if source is not None:
                f.frame.aliases[name] = source
    return False


def _augmented(f: Following, node: Node) -> bool:
    _, _, _, target, operator, value = node
    given = f.evaluate(value)
    env = f.frame.env
    match target:
        case (nodes.TO_NAME, name) if name not in env.globals:
            env.levels[name] = max(env.levels.get(name, FIXED), f.level(value))
            held = env.names.get(name)
            env = env.target(name)
            held = env.names.get(name)
            if isinstance(held, Const) or (type(held) is Object and held.kind == "tuple"):
                env.names[name] = _combined(f, operator, held, given, name)
            elif held is not None:
                forget_contents([held])
        case (nodes.TO_ATTR, expression, name, _):
            owner = f.evaluate(expression)
            held = owner.parts.get(name) if type(owner) is Object else None
            if type(owner) is Object and isinstance(held, Const):
                lazy_initialisation.store(f, owner, name, _combined(f, operator, held, given, name))
        case (nodes.TO_INDEX, *_):
            for part in children(target):
                f.evaluate(part)
    return False


def _combined(f: Following, operator: str, held: Value, given: Value, name: str) -> Value:
    """What an operator with assignment makes of a number or a text."""
    if isinstance(held, Const) and isinstance(given, Const):
        return constants.combine(operator, held.value, given.value) or f.fresh(name)
    return f.fresh(name)


def _delete(f: Following, node: Node) -> bool:
    _, _, targets = node
    for target in targets:
        forget_contents([f.evaluate(part) for part in children(target)])
    return False


def _annotated(f: Following, node: Node) -> bool:
    _, _, _, target, _, value = node
    if value is not None:
        assign(f, target, f.evaluate(value), f.level(value))
    return False


# -- the rest -------------------------------------------------------------------------------------------


def _expr(f: Following, node: Node) -> bool:
    _, _, _, expression = node
    f.evaluate(expression)
    return False


def _return(f: Following, node: Node) -> bool:
    _, _, _, expression = node
    value = Const(None) if expression is None else f.evaluate(expression)
    f.frame.returns.append((value, f.level(expression)))
    return True


def _raise(f: Following, node: Node) -> bool:
    for part in children(node):
        f.evaluate(part)
    return True


def _break(f: Following, node: Node) -> bool:
    f.frame.broken = True
    return True


def _continue(f: Following, node: Node) -> bool:
    f.frame.continued = True
    return True


def _def(f: Following, node: Node) -> bool:
    _, _, name, *_ = node
    for part in children(node):
        f.evaluate(part)
    env: Env = f.frame.env
    made = f.names.function(f.frame.func.module, node, env, None)
    env.names[name] = made if made is not None else f.fresh(name)
    if made is not None:
        f.run.nested.append(made)
    return False


def _import(f: Following, node: Node) -> bool:
    *_, names = node
    for dotted, alias in names:
        name = alias or dotted.partition(".")[0]
        f.frame.env.names[name] = f.names.imported(dotted if alias else name)
    return False


def _from(f: Following, node: Node) -> bool:
    *_, source, level, names = node
    target = f.frame.func.module.absolute(source, level)
    for name, alias in names:
        if name != "*":
            f.frame.env.names[alias or name] = f.names.from_module(target, name)
    return False


def _global(f: Following, node: Node) -> bool:
    _, _, names = node
    f.frame.env.globals.update(names)
    return False


def _nonlocal(f: Following, node: Node) -> bool:
    _, _, names = node
    f.frame.env.nonlocals.update(names)
    return False


def _class(f: Following, node: Node) -> bool:
    _, _, name, decorators, bases, keywords, body, _ = node
    for part in (*[one for one, _ in decorators], *bases, *[one for _, one in keywords]):
        f.evaluate(part)
    names = dict(f.frame.env.names)
    f.execute(body)
    f.frame.env.names = {**names, name: f.fresh(name)}
    return False


def _assert(f: Following, node: Node) -> bool:
    _, _, test, _ = node
    ask_truth(f, test)
    return False


_STATEMENTS: dict[int, Callable[[Following, Node], bool]] = {
    nodes.IF: _if, nodes.FOR: for_, nodes.ASYNC_FOR: for_,
    nodes.WHILE: while_, nodes.TRY: _try, nodes.MATCH: match_,
    nodes.WITH: _with, nodes.ASYNC_WITH: _with, nodes.ASSIGN: _assign, nodes.AUGMENTED: _augmented,
    nodes.ANNOTATED: _annotated, nodes.EXPR: _expr,
    nodes.RETURN: _return, nodes.RAISE: _raise, nodes.DEF: _def,
    nodes.CLASS: _class, nodes.IMPORT: _import,
    nodes.FROM: _from, nodes.LAZY_IMPORT: _import, nodes.LAZY_FROM: _from,
    nodes.GLOBAL: _global, nodes.ASSERT: _assert,
    nodes.DELETE: _delete, nodes.BREAK: _break, nodes.NONLOCAL: _nonlocal, nodes.CONTINUE: _continue,
}  # fmt: skip
