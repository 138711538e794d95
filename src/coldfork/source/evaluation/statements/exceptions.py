"""`try` and `raise` statements: which handlers run, and whether they certainly do."""

from __future__ import annotations

from coldfork.source.evaluation.flow.branches import FALLS, Branches
from coldfork.source.evaluation.flow.raising import cannot_fail, handles, is_dotted
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.trace import Failure
from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Node
from coldfork.source.values.conditions import Condition, Conditions, any_of
from coldfork.source.values.kinds import UNKNOWN, ClassRef, Env, External, Function, Value


def try_(ev: Interpreter, frame: Frame, node: Node) -> int:
    """Run a `try` statement with all its clauses."""
    _, _, body, handlers, orelse, final = node
    exits = len(frame.exit_musts)
    try:
        handled = False
        held: Conditions = ()
        if handlers and not cannot_fail(ev, frame.module, frame.env, body):
            ended, handled, held = _try_body(ev, frame, node)
        else:
            ended = ev.execute(frame, body)
        if ended == FALLS and orelse and not handled:
            before_else = frame.conditions
            frame.conditions = (*before_else, *held)
            ended = ev.execute(frame, orelse)
            if frame.conditions == (*before_else, *held):
                frame.conditions = before_else
    except Raised:
        if final:
            ev.execute(frame, final)
        raise
    if final:
        before = set(frame.must)
        finished = ev.execute(frame, final)
        for must in frame.exit_musts[exits:]:  # a `return` in the `try` runs `finally`, too
            must |= frame.must - before
        ended = finished or ended
    return ended


def _try_body(ev: Interpreter, frame: Frame, node: Node) -> tuple[int, bool, Conditions]:
    """Run the block of a `try`, and the handlers for its possible failures.

    Return how the block ended, whether a handler was certain to run, and the conditions under which the block
    completes.
    """
    _, line, body, handlers, _, _ = node
    before_conditions = frame.conditions
    before_must = set(frame.must)
    returns = len(frame.returns)
    before_names = dict(frame.env.names) if frame.env is not None else {}
    ev.failing.append({})
    frame.tries += 1
    raised: str | None = None
    ended = FALLS
    sure: set[str] = set()
    try:
        if not ev.presumes and _is_one_call(ev, frame.module, frame.env, body[:1]):
            # No failure can come before this call, so its effects are certain in any handler.
            ended = ev.execute(frame, body[:1])
            sure = frame.must - before_must
            ended = ended or ev.execute(frame, body[1:])
        else:
            ended = ev.execute(frame, body)
    except Raised as problem:
        raised = problem.kind
    finally:
        frame.tries -= 1
        failures = [*ev.failing.pop().values()]
    if raised is not None:
        for kinds, name, block, _ in handlers:
            if handles(kinds, raised):
                if name and frame.env is not None:
                    frame.env.names[name] = UNKNOWN
                frame.conditions = before_conditions
                return ev.execute(frame, block), True, ()
        raise Raised(raised)
    branches = Branches(ev, frame)
    branches.siblings = False
    conditions = frame.conditions[len(before_conditions) :]
    branches.follow(lambda: ended, None, True)
    after_must = frame.must
    for kinds, name, block, _ in handlers:
        condition, even, before = _failure(frame, failures, kinds, line)
        branches.conditions = before_conditions
        branches.must = before_must | before | sure
        narrowed: dict[str, Value] = {**before_names}
        if name:
            narrowed[name] = UNKNOWN

        def handle(block: tuple[Node, ...] = block) -> int:
            return ev.execute(frame, block)

        branches.follow(handle, condition, even, (), narrowed)
    branches.conditions = before_conditions
    branches.must = before_must
    frame.must = after_must
    if len(frame.returns) > returns or not any(
        one.nominal and one.ended == FALLS for one in branches.done[1:]
    ):
        # The block must run to its end, unless a handler continues after a failure.
        branches.done[0] = branches.done[0]._replace(extra=conditions)
    left = branches.leave()
    return left, False, tuple(one for one in conditions if one not in frame.conditions)


def _is_one_call(ev: Interpreter, module: Module, env: Env | None, block: Block) -> bool:
    """Return whether a block is a single call of a callable without source whose arguments cannot fail."""
    match block:
        case ((nodes.EXPR | nodes.RETURN, _, _, (nodes.CALL, function, positional, keywords, *_)),):
            pass
        case ((nodes.ASSIGN, _, _, _, (nodes.CALL, function, positional, keywords, *_)),):
            pass
        case _:
            return False
    given = (*positional, *[value for _, value in keywords])
    if not is_dotted(function) or not all(one[0] == nodes.CONST or is_dotted(one) for one in given):
        return False
    callee = ev.quietly(module, env, function)
    if isinstance(callee, Function):
        code = ev.definitions.code_of(callee)
        return (
            code is not None
            and not ev.memo.is_followed((callee.module.name, id(code)))
            and (_is_one_call(ev, callee.module, Env(callee.env), code.block))
        )
    return isinstance(callee, External)


def _failure(
    frame: Frame, failures: list[Failure], kinds: Node | None, line: int
) -> tuple[Condition, bool, frozenset[str]]:
    """Return a handler's condition, whether it is as likely to run as not, and the wakes that are certain
    before.
    """
    caught = [failure for failure in failures if handles(kinds, failure.kind)]
    likely = [failure for failure in caught if failure.even]
    if caught:
        first = (likely or caught)[0].condition
        condition = any_of(first, *[failure.condition for failure in caught]) or first
        if likely:
            return condition, True, frozenset.intersection(*[failure.must for failure in likely])
        return condition, False, frozenset()
    return Condition(words=f"the `try` at line {line} of {frame.module.name} fails"), False, frozenset()


def raise_(ev: Interpreter, frame: Frame, node: Node) -> int:
    """Run a `raise` statement: evaluate its operands, then raise the named exception."""
    _, line, exception, cause = node
    frame.at(line, line)
    kind = "other"
    if exception is not None:
        value = ev.evaluate(frame, exception)
        if cause is not None:
            ev.evaluate(frame, cause)
        if isinstance(value, ClassRef):
            ev.call(frame, value)
        match exception:
            case (nodes.NAME, name, _) | (nodes.CALL, (nodes.NAME, name, _), *_):
                kind = name
        if isinstance(value, External) and value.name.startswith("builtins."):
            kind = value.name.rpartition(".")[2].removesuffix("()")  # even if it was renamed on import
    raise Raised(kind, frame.gate == 0)
