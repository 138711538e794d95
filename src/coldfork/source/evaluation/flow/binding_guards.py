"""Guards around a binding: whether the statement that binds a name is reached."""

from __future__ import annotations

from coldfork.source.evaluation.flow.cannot_raise import cannot_fail
from coldfork.source.evaluation.flow.handlers import handles
from coldfork.source.evaluation.flow.truth_tests import test_of
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.trace import Failure
from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node, line_of
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import Env


def guards_hold(
    ev: Interpreter, module: Module, env: Env | None, guards: tuple[Node, ...]
) -> tuple[bool | None, Condition | None]:
    """Whether a binding under `guards` happens: yes, no, maybe; and the condition that makes a no a maybe."""
    outcome: bool | None = True
    off: Condition | None = None
    for guard in guards:
        if guard[0] == nodes.WHEN:
            _, expression, wanted, line, _ = guard
            test = test_of(ev.quietly(module, env, expression, _line_of_body(env, line)))
            if not wanted:
                test = test.inverted()
            holds, condition = test.nominal, test.when_true
        else:
            holds, condition = _failure_reached(ev, module, env, guard)
        if holds is False:
            if condition is None:
                return False, None
            outcome, off = False, off or condition
        elif holds is None and outcome is True:
            outcome = None
    if off is not None:
        return False, off
    return outcome, None


def _line_of_body(env: Env | None, line: int) -> int:
    """The line, of the body of a module or of a class at its top level: a function may run later."""
    return line if env is None or env.outer is None else 0


def _failure_reached(
    ev: Interpreter, module: Module, env: Env | None, guard: Node
) -> tuple[bool | None, Condition | None]:
    """Whether the handler of a `try` runs, judged by what its block may fail at."""
    _, block, kinds, line = guard
    if cannot_fail(ev, module, env, block):
        return False, None
    raised, failures = try_quietly(ev, module, env, block)
    if raised is not None:
        return (True, None) if handles(kinds, raised) else (False, None)
    for failure in failures:
        if handles(kinds, failure.kind):
            return (None, None) if failure.even else (False, failure.condition)
    return False, Condition(words=f"the `try` above line {line} of {module.name} fails")


def try_quietly(
    ev: Interpreter, module: Module, env: Env | None, block: nodes.Block
) -> tuple[str | None, list[Failure]]:
    """Run the block of a `try` for its failures alone."""
    frame = Frame(module, Env(env))
    frame.quiet = True
    frame.before = _line_of_body(env, line_of(block[0])) if block else 0
    ev.failing.append({})
    mark = ev.journal.mark()
    try:
        ev.execute(frame, block)
        return None, [*ev.failing[-1].values()]
    except Raised as raised:
        return raised.kind, [*ev.failing[-1].values()]
    finally:
        ev.failing.pop()
        ev.journal.forget(mark)
