"""Blocks that cannot raise: what handles their failures never runs.

Only what is plain to see counts: constants, names, known attributes, and tests of them. A call may always
raise, and so may an import; nearly every `try` holds one of them and is settled by its first line.
"""

from __future__ import annotations

from coldfork.source.evaluation.flow.truth_tests import test_of
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.program.module import Module
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Block, Node
from coldfork.source.syntax.walk import children
from coldfork.source.values.kinds import ClassRef, Const, Env, Function, Mapping, ModuleRef, Sequence, Value

_LEAVING = frozenset({nodes.BREAK, nodes.CONTINUE, nodes.GLOBAL, nodes.NONLOCAL})
#: Operators that run no code of the values that are known.
_COMPARING = frozenset({"is", "is not", "==", "!="})
_KNOWN = (Const, Function, ClassRef, ModuleRef, Sequence, Mapping)


def cannot_fail(ev: Interpreter, module: Module, env: Env | None, block: Block) -> bool:
    """True when no statement of `block` that can run from here is able to raise."""
    # A block of which nothing is left has been reduced: a name alone on a line may well be asked for.
    return bool(block) and _Reading(ev, module, env).block(block)


class _Reading:
    """One block being read, in the order in which it would run."""

    def __init__(self, ev: Interpreter, module: Module, env: Env | None) -> None:
        self.ev = ev
        self.module = module
        self.env = env
        self.changed = False
        """True once a variable has been given another value than the one it has now."""

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
                return _is_dotted(node) and self.is_known(node)
            case (nodes.NOT | nodes.BOOL | nodes.IFEXP, *_):
                return all(self.expression(part) for part in children(node))
            case (nodes.COMPARE, left, operators, comparators):
                return _COMPARING.issuperset(operators) and all(map(self.is_known, (left, *comparators)))
            case (nodes.SEQUENCE, kind, elements):
                return kind != "set" and all(self.expression(element) for element in elements)
        return False

    def is_local(self, name: str) -> bool:
        """True for a variable that has a value here, whatever it is."""
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


def _is_dotted(node: Node) -> bool:
    """`a.b.c`: reading it calls nothing on the way."""
    while node[0] == nodes.ATTR:
        _, node, _, _ = node
    return bool(node[0] == nodes.NAME)
