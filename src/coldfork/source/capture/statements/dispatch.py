"""Statements of code around and inside a capture."""

from __future__ import annotations

from collections.abc import Callable

from coldfork.source.capture.calls.external_calls import captures
from coldfork.source.capture.calls.recording import ask_truth, ask_value
from coldfork.source.capture.contents.containers import forget_contents
from coldfork.source.capture.contents.stores import item, store, take_away
from coldfork.source.capture.device import device_work
from coldfork.source.capture.following import Following
from coldfork.source.capture.history import choices
from coldfork.source.capture.history.keys import key_of
from coldfork.source.capture.objects import Env, Object, Value
from coldfork.source.capture.state import FIXED
from coldfork.source.capture.statements import contexts, lazy_initialisation
from coldfork.source.capture.statements.attempts import try_
from coldfork.source.capture.statements.binding import assign
from coldfork.source.capture.statements.branches import Way, follow_ways
from coldfork.source.capture.statements.lazy_initialisation import Lazy
from coldfork.source.capture.statements.loops import for_, while_
from coldfork.source.capture.statements.matching import match_
from coldfork.source.semantics import constants
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Node, line_of, place_of
from coldfork.source.syntax.quoting import text_of
from coldfork.source.syntax.walk import children
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
            outcome = _if(f, node, lazy, block[index + 1 :])
            if outcome is not None:
                return outcome
            continue
        handler = _STATEMENTS.get(op)
        if handler is not None and handler(f, node):
            return True
    return False


# -- branches -------------------------------------------------------------------------------------------


def _if(f: Following, node: Node, lazy: Lazy | None, rest: Block) -> bool | None:
    """An `if`, with what follows it where one of its ways leaves; None when that is still to be followed."""
    _, line, test, body, orelse, span = node
    with choices.reading(f) as reads:
        value = ask_value(f, test, "if ", ":") if lazy is None else f.evaluate(test)
    truth = f.truth(value)
    site = choices.Site(
        f.frame.func.module.name, line, lazy.access[2] if lazy is not None else choices.subject_of(test)
    )
    if lazy is not None:
        runs = truth if truth is None else truth is not lazy.rest
        if runs and f.run.region is None:
            left = choices.go(f, site, truth, reads, lambda: lazy_initialisation.follow(f, lazy, True))
            return left or (False if lazy.rest else None)
        if runs is not False or lazy_initialisation.is_met(lazy):
            left = lazy_initialisation.follow(f, lazy, runs)
            return left or (False if lazy.rest else None)
    if truth is None:
        ways = [Way(f.condition(span), body), Way(f.condition(span, True), orelse)]
        on_device = type(value) is Object and value.tensor is not None  # the answer lies in the data
        return follow_ways(f, ways, None if on_device else site, reads) or None
    behind = not truth and not orelse and body and body[-1][0] in (nodes.RETURN, nodes.CONTINUE)
    taken = body if truth else rest if behind else orelse
    left = choices.go(f, site, truth, reads, lambda: f.execute(taken))
    return left if left or behind else None


def _with(f: Following, node: Node) -> bool:
    _, line, items, body = node
    region = f.run.region
    entered: list[contexts.Entered] = []
    for context, target in items:
        value = contexts.enter(f, context, entered)
        if captures(value):
            f.begin(*(place_of(context) if context[0] == nodes.CALL else (line, 0, line)))
        if target is not None:
            assign(f, target, value, FIXED)
    left = f.execute(body)
    for one in reversed(entered):
        contexts.leave(f, one)
    if region is None and f.run.region is not None:
        f.end()
    return left


#: How many of the places that were looked at for a name are remembered.
_MOST_READS = 16

# -- assignments ----------------------------------------------------------------------------------------


def _assign(f: Following, node: Node) -> bool:
    _, line, end, targets, expression = node
    with choices.reading(f, 0) as reads:
        value = f.evaluate(expression)
    level = f.level(expression)
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
            f.frame.sources[name] = tuple(reads[-_MOST_READS:])
    return False


def _augmented(f: Following, node: Node) -> bool:
    _, _, _, target, operator, value = node
    given = f.evaluate(value)
    env = f.frame.env
    match target:
        case (nodes.TO_NAME, name) if name in env.globals:
            shared = f.names.globals_of(f.frame.func.module)
            held = f.names.of_module(f.frame.func.module, name)
            if isinstance(held, Const):
                store(f, shared, name, _combined(f, operator, held, given, name))
        case (nodes.TO_NAME, name):
            env.levels[name] = max(env.levels.get(name, FIXED), f.level(value))
            held = env.names.get(name)
            env = env.target(name)
            held = env.names.get(name)
            if isinstance(held, Const) or (type(held) is Object and held.kind == "tuple"):
                env.names[name] = _combined(f, operator, held, given, name)
            elif held is not None:
                _added_to(f, held, value, name)
        case (nodes.TO_ATTR, expression, name, _):
            owner = f.evaluate(expression)
            held = owner.parts.get(name) if type(owner) is Object else None
            if type(owner) is Object and isinstance(held, Const):
                store(f, owner, name, _combined(f, operator, held, given, name))
            elif held is not None:
                _added_to(f, held, value, name)
        case (nodes.TO_INDEX, expression, index, _):
            owner, key = f.evaluate(expression), f.evaluate(index)
            if type(owner) is Object and owner.tensor is None:
                held = item(f, owner, key)
                if isinstance(held, Const):
                    store(f, owner, key_of(f, key), _combined(f, operator, held, given, text_of(expression)))
            else:
                _added_to(f, owner, value, text_of(expression))
    return False


def _added_to(f: Following, held: Value, value: Node, text: str) -> None:
    """What is no number is changed where it lies."""
    if type(held) is Object and held.tensor is not None:
        device_work.written(f, held, f.level(value), f"{text} changed in place")
    else:
        forget_contents([held])


def _combined(f: Following, operator: str, held: Value, given: Value, name: str) -> Value:
    """What an operator with assignment makes of a number or a text."""
    if isinstance(held, Const) and isinstance(given, Const):
        return constants.combine(operator, held.value, given.value) or f.fresh(name)
    return f.fresh(name)


def _delete(f: Following, node: Node) -> bool:
    _, _, targets = node
    for target in targets:
        match target:
            case (nodes.ATTR, expression, name, _):
                owner = f.evaluate(expression)
                if type(owner) is Object:
                    take_away(f, owner, name)
            case (nodes.INDEX, expression, index, _):
                owner = f.evaluate(expression)
                key = f.evaluate(index)
                if type(owner) is Object and owner.kind not in ("list", "tuple"):
                    take_away(f, owner, key_of(f, key))
                else:
                    forget_contents([owner])
            case _:
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
    nodes.FOR: for_, nodes.ASYNC_FOR: for_,
    nodes.WHILE: while_, nodes.TRY: try_, nodes.MATCH: match_,
    nodes.WITH: _with, nodes.ASYNC_WITH: _with, nodes.ASSIGN: _assign, nodes.AUGMENTED: _augmented,
    nodes.ANNOTATED: _annotated, nodes.EXPR: _expr,
    nodes.RETURN: _return, nodes.RAISE: _raise, nodes.DEF: _def,
    nodes.CLASS: _class, nodes.IMPORT: _import,
    nodes.FROM: _from, nodes.LAZY_IMPORT: _import, nodes.LAZY_FROM: _from,
    nodes.GLOBAL: _global, nodes.ASSERT: _assert,
    nodes.DELETE: _delete, nodes.BREAK: _break, nodes.NONLOCAL: _nonlocal, nodes.CONTINUE: _continue,
}  # fmt: skip
