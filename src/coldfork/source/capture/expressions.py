"""Expressions of code around and inside a capture: which object, or which definition, each one gives."""

from __future__ import annotations

from collections.abc import Callable

from coldfork.source.capture.calls.functions import call
from coldfork.source.capture.calls.recording import ask_truth, record_truth_test
from coldfork.source.capture.contents import special
from coldfork.source.capture.contents.attributes import attribute
from coldfork.source.capture.contents.comparison import compared
from coldfork.source.capture.contents.containers import dictionary_display, reordered, sequence_display
from coldfork.source.capture.device.synchronisation import placed
from coldfork.source.capture.following import Following
from coldfork.source.capture.history import choices
from coldfork.source.capture.history.keys import give_shape, numbered, shape_of, slice_token, token
from coldfork.source.capture.objects import ANY, SOME_CALL, Func, Object, Tensor, Value
from coldfork.source.capture.state import DEPENDENT, MAYBE, Read
from coldfork.source.capture.statements.binding import assign
from coldfork.source.semantics import constants
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node, Span, code_of
from coldfork.source.syntax.quoting import text_of
from coldfork.source.syntax.walk import children
from coldfork.source.values.kinds import Const, External


def evaluate(f: Following, node: Node) -> Value:
    """What an expression gives."""
    handler = _EXPRESSIONS.get(node[0])
    if handler is not None:
        return handler(f, node)
    for part in children(node):
        f.evaluate(part)
    return f.fresh("it")


#: The tests of a comprehension, each with where it stands.
Tests = tuple[tuple[Node, Span], ...]
_MOST_ITEMS = 8


def _const(f: Following, node: Node) -> Value:
    _, value = node
    return Const(value)


def _name(f: Following, node: Node) -> Value:
    _, name, _ = node
    env = f.frame.env.holder(name)
    if env is not None and name not in f.frame.env.globals:
        found = env.names[name]
        f.run.touch(found)
        if env is f.frame.env:
            for read in f.frame.sources.get(name, ()):
                choices.note(f, *read)
        else:
            choices.note(f, env, name, found)
        return found
    module = f.frame.func.module
    value = f.names.of_module(module, name)
    if value is not None:
        f.run.touch(value)
        if name in module.summary.rebound:
            choices.note(f, f.names.globals_of(module), name, value)
    return value if value is not None else External(name)


def _attr(f: Following, node: Node) -> Value:
    _, base, name, line = node
    f.frame.line = line
    return attribute(f, f.evaluate(base), name)


def _index(f: Following, node: Node) -> Value:
    _, base, key, line = node
    owner, index = f.evaluate(base), f.evaluate(key)
    f.frame.line = line
    if type(owner) is not Object:
        return f.fresh("item")
    if owner.tensor is not None:
        if type(index) is Object and index.tensor is not None and index.tensor.mask:
            record_truth_test(f, owner, base, "", f"[{text_of(key)}]")
        made = f.fresh("item", SOME_CALL)
        made.tensor = placed(owner, text_of(base))
        made.base, made.data = owner, owner.memory.data
        given = token(f, shape_of(f, owner))
        made.parts["shape"] = numbered(f, "shape", given, slice_token(f, key), made_by=SOME_CALL)
        f.run.look_through(made)
        return made
    return special.item(f, owner, index, text_of(base))


def _lambda(f: Following, node: Node) -> Value:
    _, raw = node
    for default in children(node):
        f.evaluate(default)
    code = code_of(raw)
    return Func(f.frame.func.module, code, code.name, code.line or f.frame.line, f.frame.env)


def _ifexp(f: Following, node: Node) -> Value:
    _, test, body, orelse, _, span = node
    with choices.reading(f) as reads:
        truth = ask_truth(f, test)
    if truth is not None:
        site = choices.here(f, choices.subject_of(test))
        return choices.go(f, site, truth, reads, lambda: f.evaluate(body if truth else orelse))
    frame = f.frame
    outer = frame.conditions
    frame.conditions = (*outer, f.condition(span))
    first = f.evaluate(body)
    frame.conditions = (*outer, f.condition(span, True))
    second = f.evaluate(orelse)
    frame.conditions = outer
    return first if first is second or first == second else f.fresh("it")


def _bool(f: Following, node: Node) -> Value:
    _, is_and, values, _, spans = node
    frame = f.frame
    outer = frame.conditions
    unsure = False
    value: Value = Const(is_and)
    reads: list[Read] = []
    site = choices.here(f, choices.subject_of(values[0]))
    for index, (part, span) in enumerate(zip(values, spans, strict=True)):
        value, reads = _operand(f, site, part, reads)
        truth = f.truth(value)
        if truth is not None and truth is not is_and:
            choices.go(f, site, "enough", reads, lambda: None)
            break
        if truth is None and index < len(values) - 1:
            record_truth_test(f, value, part, "the truth of ")
            unsure = True
            frame.conditions = (*frame.conditions, f.condition(span, not is_and))
    frame.conditions = outer
    truth = f.truth(value)
    if truth is not None and truth is not is_and:
        return value
    return f.fresh("it") if unsure else value


def _operand(f: Following, site: choices.Site, part: Node, before: list[Read]) -> tuple[Value, list[Read]]:
    """An operand, which is evaluated because of what those before it looked at."""
    with choices.reading(f, 0) as reads:
        value: Value = choices.go(f, site, text_of(part), before, lambda: f.evaluate(part))
    f.run.touch(value)
    return value, [*before, *reads]


def _not(f: Following, node: Node) -> Value:
    _, operand = node
    truth = ask_truth(f, operand)
    return Const(not truth) if truth is not None else f.fresh("it")


def _compare(f: Following, node: Node) -> Value:
    _, left, operators, comparators = node
    first = f.evaluate(left)
    others = [f.evaluate(one) for one in comparators]
    if len(others) == 1 and operators[0] in ("in", "not in") and type(others[0]) is Object:
        there = special.is_in(f, first, others[0])
        if there is not None:
            return Const(there is (operators[0] == "in"))
    outcomes = [compared(*pair) for pair in zip([first, *others], operators, others, strict=False)]
    for index, operator in enumerate(operators[:-1]):
        asked = _of_tensor(f, (first, *others)[index : index + 2], operator)
        if asked is not None:  # whether the chain goes on
            record_truth_test(f, asked, node, "the truth of ", "")
    if None not in outcomes:
        return Const(all(outcomes))
    if len(others) == 1:
        return _of_tensor(f, (first, others[0]), operators[0]) or _of_batch(f, node, operators[0])
    return f.fresh("it")


def _of_tensor(f: Following, pair: tuple[Value, ...], operator: str) -> Object | None:
    """What comparing a tensor gives: another one."""
    for one in pair:
        if type(one) is Object and one.tensor is not None and not operator.startswith(("is", "in", "not")):
            made = f.fresh("it")
            made.tensor = Tensor(one.tensor.device, True)
            return made
    return None


def _of_batch(f: Following, node: Node, operator: str) -> Object:
    """What comparing something of the batch gives, which may be a tensor."""
    made = f.fresh("it")
    if not operator.startswith(("is", "in", "not")) and f.level(node) == DEPENDENT:
        made.data = (MAYBE, "the comparison")
    return made


def _comprehension(f: Following, node: Node) -> Value:
    _, _, elements, generators, _ = node
    frame = f.frame
    outer, names = frame.conditions, dict(frame.env.names)
    made = f.fresh("items", SOME_CALL)
    if all(_generates(f, *generator) for generator in generators):
        made.parts[ANY] = [f.evaluate(element) for element in elements][-1]
    frame.conditions, frame.env.names = outer, names
    return made


def _generates(f: Following, target: Node, iterable: Node, tests: Tests) -> bool:
    """Bind the first item that may get past the tests; False where none does."""
    value = f.evaluate(iterable)
    known = value.elements() if type(value) is Object else None
    items = value.items() if type(value) is Object and known is None else []
    one = items[0] if items else value.part(ANY) if type(value) is Object and not known else f.fresh("item")
    for item in known[:_MOST_ITEMS] if known is not None else [one]:
        assign(f, target, item, f.level(iterable))
        outcomes = [(ask_truth(f, test), span) for test, span in tests]
        if not any(outcome is False for outcome, _ in outcomes):
            unsure = [f.condition(span) for outcome, span in outcomes if outcome is None]
            f.frame.conditions = (*f.frame.conditions, *unsure)
            return True
    return known is not None and len(known) > _MOST_ITEMS


def _binary(f: Following, node: Node) -> Value:
    _, name, left, right, line = node
    values = [f.evaluate(left), f.evaluate(right)]
    match values:
        case [Const(value=first), Const(value=second)]:
            return constants.combine(name, first, second) or f.fresh("it", SOME_CALL)
        case [Object(kind="list") as items, _] if name == "*":
            repeated = reordered(items)
            repeated.before, repeated.made_by = False, SOME_CALL
            return repeated
    f.frame.line = line
    made = f.fresh("it", SOME_CALL)
    tensors = [one.tensor for one in values if type(one) is Object and one.tensor is not None]
    if tensors:
        made.tensor = Tensor(next((t.device for t in tensors if t.device), ""), all(t.mask for t in tensors))
        made.data = (f.level(node), "the arithmetic")
        give_shape(f, made, name, values)
        return made
    if all(isinstance(one, Const) or (type(one) is Object and not one.kind) for one in values):
        return numbered(f, "it", name, *[token(f, one) for one in values], made_by=SOME_CALL)
    return made


def _unary(f: Following, node: Node) -> Value:
    _, name, operand = node
    value = f.evaluate(operand)
    if isinstance(value, Const):
        return constants.negate(name, value.value) or f.fresh("it")
    made = f.fresh("it")
    if type(value) is Object:
        made.tensor = value.tensor
    return made


def _walrus(f: Following, node: Node) -> Value:
    _, name, expression = node
    with choices.reading(f, 0) as reads:
        value = f.evaluate(expression)
    f.frame.env.names[name] = value
    f.frame.env.levels[name] = f.level(expression)
    f.frame.sources[name] = tuple(reads)
    return value


def _yield(f: Following, node: Node) -> Value:
    _, value, *_ = node
    if value is not None:
        f.frame.yields.append(f.evaluate(value))
    return f.fresh("it")


def _joined(f: Following, node: Node) -> Value:
    _, parts, _ = node
    values = [f.evaluate(part) for part in parts]
    for value, part in zip(values, parts, strict=True):
        record_truth_test(f, value, part, "the text of ")
    return numbered(f, "text", "text", *[token(f, one) for one in values], made_by=SOME_CALL)


def _wrapped(f: Following, node: Node) -> Value:
    _, value, *_ = node
    return f.evaluate(value)


def _slice(f: Following, node: Node) -> Value:
    return numbered(f, "slice", "slice", slice_token(f, node))


_EXPRESSIONS: dict[int, Callable[[Following, Node], Value]] = {
    nodes.CONST: _const, nodes.NAME: _name, nodes.ATTR: _attr,
    nodes.CALL: call, nodes.INDEX: _index, nodes.LAMBDA: _lambda,
    nodes.IFEXP: _ifexp, nodes.BOOL: _bool,
    nodes.NOT: _not, nodes.COMPARE: _compare, nodes.SEQUENCE: sequence_display,
    nodes.DICT: dictionary_display, nodes.COMPREHENSION: _comprehension,
    nodes.BINARY: _binary, nodes.UNARY: _unary,
    nodes.SLICE: _slice, nodes.YIELD: _yield,
    nodes.WALRUS: _walrus, nodes.JOINED: _joined, nodes.AWAIT: _wrapped, nodes.STAR: _wrapped,
}  # fmt: skip
