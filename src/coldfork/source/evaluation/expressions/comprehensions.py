"""Comprehensions and generator expressions."""

from __future__ import annotations

from collections.abc import Callable

from coldfork.model.effects import Position
from coldfork.source.evaluation.flow.branches import FALLS, Branches
from coldfork.source.evaluation.flow.truth_tests import quoted, test_of, tested
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter, cut_short
from coldfork.source.evaluation.objects.assignment import assign
from coldfork.source.evaluation.objects.protocols import iterate
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import NO_PARAMETERS, Block, Code, Node
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import UNKNOWN, Env, Function, Lazy, Mapping, Sequence, Value, Values
from coldfork.source.values.unions import union

#: The parameter of a generator's function: the iterable of the outermost `for`.
_ITERATED = NO_PARAMETERS._replace(positional=(".0",))


def comprehension(ev: Interpreter, frame: Frame, node: Node) -> Value:
    """Return the result of a comprehension; a generator expression is only created, and runs later."""
    _, kind, _, generators, _ = node
    outer_env, outer_position, outer_binds, outer_cls = frame.env, frame.position, frame.binds, frame.cls
    before = frame.conditions
    (_, outermost, tests), *inner = generators
    iterated = ev.evaluate(frame, outermost)
    if kind == "generator":
        return _generator(ev, frame, node, iterated)
    first, exact = iterate(ev, frame, iterated)
    filled = type(iterated) is Sequence and not iterated.doubtful
    if frame.toplevel and frame.position in (Position.MODULE, Position.CLASS_BODY):
        frame.position = Position.COMPREHENSION
    frame.env, frame.binds, frame.cls = Env(outer_env), None, outer_cls
    made: list[Value] = []
    ev.budget.loops += 1
    try:
        complete = _generate(ev, frame, node, 0, first, exact, made, filled)
    finally:
        ev.budget.loops -= 1
        frame.env, frame.position, frame.binds, frame.cls = outer_env, outer_position, outer_binds, outer_cls
        frame.conditions = before
    doubtful = not (complete or (filled and not tests and not inner))
    if kind == "dict":
        pairs = dict(zip(made[::2], made[1::2], strict=False))
        return Mapping(pairs, complete, doubtful)
    return Sequence(kind, tuple(made), complete, doubtful)


def _generator(ev: Interpreter, frame: Frame, node: Node, iterated: Value) -> Value:
    """Return a generator: now only its outermost iterable is evaluated, and the rest when it is consumed."""
    code = ev.definitions.code_for(node, _generator_code)
    env = frame.env if not frame.toplevel or frame.env is None or frame.env.names or frame.cls else None
    function = Function(frame.module, code.line, code.name, code, env, None)
    return Lazy("generator", (function, (iterated,), {}))


def _generator_code(node: Node) -> Code:
    """Return a generator expression as the code of a generator function."""
    _, _, elements, generators, line = node
    (element,) = elements
    unpacked = element[0] == nodes.STAR
    if unpacked:
        _, element = element
    (first, _, conditions), *others = generators
    block: Block = ((nodes.EXPR, line, line, (nodes.YIELD, element, unpacked, line)),)
    for target, iterable, tests in reversed([(first, (nodes.NAME, ".0", line), conditions), *others]):
        for test, span in reversed(tests):
            block = ((nodes.IF, line, test, block, (), span),)
        block = ((nodes.FOR, line, target, iterable, block, ()),)
    return Code(_ITERATED, block, True, False, "<genexpr>", line, None, ())


def _generate(
    ev: Interpreter,
    frame: Frame,
    node: Node,
    depth: int,
    items: Values,
    exact: bool,
    made: list[Value],
    filled: bool = False,
) -> bool:
    """Run one `for` of a comprehension with all that are nested in it; return whether every element
    is known.
    """
    _, kind, elements, generators, line = node
    target, _, tests = generators[depth]
    complete = exact
    cost = 1 + (len(elements) if depth + 1 == len(generators) else 0)

    def inside() -> int:
        nonlocal complete
        if depth + 1 < len(generators):
            _, iterable, _ = generators[depth + 1]
            more, whole = iterate(ev, frame, ev.evaluate(frame, iterable))
            complete = _generate(ev, frame, node, depth + 1, more, whole, made) and complete
        else:
            values, whole = _elements(ev, frame, elements, kind)
            made.extend(values)
            complete = complete and whole
        return FALLS

    def one(item: Value) -> None:
        nonlocal complete
        # A round costs as much as a loop's, where each statement of the body is charged.
        ev.budget.left -= cost
        assign(ev, frame, target, item)
        saved = frame.conditions
        for test, span in tests:
            outcome = test_of(tested(ev, frame, ev.evaluate(frame, test)))
            if outcome.nominal is False and outcome.when_true is None:
                frame.conditions = saved
                return
            if outcome.nominal is not True:
                complete = False
                needed = outcome.when_true or quoted(ev, frame, test, span, False)
                frame.conditions = (*frame.conditions, needed)
        _maybe(frame, inside, len(frame.conditions) > len(saved))
        frame.conditions = saved

    if exact:
        for index, item in enumerate(items):
            if ev.budget.spent and index + 1 < len(items):  # one more round represents all remaining items
                cut_short(ev, frame, line)
                complete = False
                one(union(items[index:]))
                break
            one(item)
    elif filled:
        one(union(items))
    else:
        condition = Condition(
            words=f"the comprehension at line {line} of {frame.module.name} has something to iterate"
        )
        branches = Branches(ev, frame)

        def around() -> int:
            one(union(items) if items else UNKNOWN)
            return FALLS

        branches.follow(around, condition, True)
        branches.follow(lambda: FALLS, None, True)
        branches.join()
    return complete


def _elements(
    ev: Interpreter, frame: Frame, elements: tuple[Node, ...], kind: str
) -> tuple[list[Value], bool]:
    """Return the elements that one round adds, and whether these are all. For a dictionary, keys and values
    alternate.
    """
    made: list[Value] = []
    complete = True
    for element in elements:
        if element[0] != nodes.STAR:
            made.append(ev.evaluate(frame, element))
            continue
        _, unpacked = element
        held = ev.evaluate(frame, unpacked)
        if kind != "dict":
            items, whole = iterate(ev, frame, held)
            made.extend(items)
        else:
            whole = isinstance(held, Mapping) and held.exact
            for pair in held.items.items() if isinstance(held, Mapping) else ():
                made.extend(pair)
        complete = complete and whole
    return made, complete


def _maybe(frame: Frame, work: Callable[[], int], uncertain: bool) -> None:
    """Do `work`; if `uncertain`, none of its wakes become certain."""
    must = set(frame.must)
    work()
    if uncertain:
        frame.must = must
