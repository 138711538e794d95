"""Whether a binding under guards happens, which failures a block may have, and which handler catches each.

A block counts as unable to raise only if it obviously is: it consists of constants, names, known attributes
and tests of these. Any call or import may raise; nearly every `try` has one, usually in its first line.
"""

from __future__ import annotations

import builtins

from coldfork.source.evaluation.flow.truth_tests import test_of
from coldfork.source.evaluation.frame import Frame, Raised
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.trace import Failure
from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Node, last_name, line_of
from coldfork.source.syntax.walk import children
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import ClassRef, Const, Env, Function, Mapping, ModuleRef, Sequence, Value

_LEAVING = frozenset({nodes.BREAK, nodes.CONTINUE, nodes.GLOBAL, nodes.NONLOCAL})
#: Operators that run no code of their operands if these are known values.
_COMPARING = frozenset({"is", "is not", "==", "!="})
_KNOWN = (Const, Function, ClassRef, ModuleRef, Sequence, Mapping)


def cannot_fail(ev: Interpreter, module: Module, env: Env | None, block: Block) -> bool:
    """Return True if no statement of `block` can raise when the block runs here."""
    # An empty block had a statement that was dropped, perhaps a name whose lookup fails.
    return bool(block) and _Reading(ev, module, env).block(block)


class _Reading:
    """Checks whether a block may raise, statement by statement."""

    def __init__(self, ev: Interpreter, module: Module, env: Env | None) -> None:
        self.ev = ev
        self.module = module
        self.env = env
        self.changed = False
        """True once a variable has been given a different value."""

    def block(self, block: Block) -> bool:
        return all(self.statement(node) for node in block)

    def statement(self, node: Node) -> bool:
        match node:
            case (opcode, *_) if opcode in _LEAVING:
                return True
            case (nodes.RETURN, _, _, value):
                return value is None or self.expression(value)
            case (nodes.EXPR, _, _, value):
                return self.expression(value)
            case (nodes.ASSIGN, _, _, targets, value):
                harmless = all(target[0] == nodes.TO_NAME for target in targets) and self.expression(value)
                self.changed = True
                return harmless
            case (nodes.DEF, _, _, decorators, header, _):
                return not decorators and header is None
            case (nodes.IF, _, test, body, orelse, _):
                return self.expression(test) and self.branches(test, body, orelse)
            case (nodes.TRY, _, body, _, orelse, final):
                return self.block(body) and self.block(orelse) and self.block(final)
        return False

    def branches(self, test: Node, body: Block, orelse: Block) -> bool:
        outcome = None if self.changed else test_of(self.value(test))
        if (
            outcome is not None
            and outcome.nominal is not None
            and not (outcome.when_true or outcome.when_false)
        ):
            return self.block(body if outcome.nominal else orelse)
        return self.block(body) and self.block(orelse)

    def expression(self, node: Node) -> bool:
        match node:
            case (nodes.CONST | nodes.LAMBDA, _):
                return True
            case (nodes.NAME, name, _):
                return self.is_known(node) or self.is_local(name)
            case (nodes.ATTR, *_):
                return is_dotted(node) and self.is_known(node)
            case (nodes.NOT | nodes.BOOL | nodes.IFEXP, *_):
                return all(self.expression(part) for part in children(node))
            case (nodes.COMPARE, left, operators, comparators):
                return _COMPARING.issuperset(operators) and all(map(self.is_known, (left, *comparators)))
            case (nodes.SEQUENCE, kind, elements):
                return kind != "set" and all(self.expression(element) for element in elements)
        return False

    def is_local(self, name: str) -> bool:
        """Return True for a local variable that has some value here."""
        env = self.env
        while env is not None:
            if name in env.names:
                return True
            env = env.outer
        return False

    def is_known(self, node: Node) -> bool:
        return not self.changed and isinstance(self.value(node), _KNOWN)

    def value(self, node: Node) -> Value:
        return self.ev.quietly(self.module, self.env, node)


def is_dotted(node: Node) -> bool:
    """Return whether a node is a name or a dotted name, whose evaluation calls nothing."""
    while node[0] == nodes.ATTR:
        _, node, _, _ = node
    return bool(node[0] == nodes.NAME)


#: Exceptions that end the program: `except Exception` does not catch them.
_EXITS = frozenset({"SystemExit", "KeyboardInterrupt", "GeneratorExit"})

#: Exceptions of the standard library, each with a built-in base.
_DERIVED = {"PackageNotFoundError": "ModuleNotFoundError"}


def handles(kinds: Node | None, raised: str) -> bool:
    """Return whether an `except` clause catches an exception of this name, judged by the built-in
    hierarchy.
    """
    if kinds is None:
        return True
    names = _exception_names(kinds)
    if not names or raised in names or "BaseException" in names:
        return True
    if "Exception" in names:
        return raised not in _EXITS
    known = getattr(builtins, _DERIVED.get(raised, raised), None)
    if not isinstance(known, type):
        # A clause that names any library's exception is taken to catch the exceptions of all libraries.
        return any(not isinstance(getattr(builtins, name, None), type) for name in names)
    caught = [getattr(builtins, name, None) for name in names]
    return any(isinstance(one, type) and issubclass(known, one) for one in caught)


def _exception_names(node: Node) -> set[str]:
    if node[0] == nodes.SEQUENCE:
        return {name for element in children(node) for name in _exception_names(element)}
    name = last_name(node)
    return {name} if name is not None else set()


def guards_hold(
    ev: Interpreter, module: Module, env: Env | None, guards: tuple[Node, ...]
) -> tuple[bool | None, Condition | None]:
    """Return whether a binding under `guards` happens: True, False, or None for maybe. False comes with the
    condition under which it happens nevertheless.
    """
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
    """Return the line if it is in the body of a module or a top-level class; 0 in a function, which may run
    later.
    """
    return line if env is None or env.outer is None else 0


def _failure_reached(
    ev: Interpreter, module: Module, env: Env | None, guard: Node
) -> tuple[bool | None, Condition | None]:
    """Return whether the handler of a `try` runs, judged by the possible failures of its block."""
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
    """Run the block of a `try` just to find its failures, without recording effects."""
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
