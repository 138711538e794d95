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
from coldfork.source.values.kinds import ClassRef, Const, Env, Function, Mapping, ModuleRef, Sequence, Value

_LEAVING = frozenset({nodes.BREAK, nodes.CONTINUE, nodes.GLOBAL, nodes.NONLOCAL})
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
        kind = node[0]
        if kind in _LEAVING:
            return True
        if kind == nodes.RETURN:
            return node[3] is None or self.expression(node[3])
        if kind == nodes.EXPR:
            return self.expression(node[3])
        if kind == nodes.ASSIGN:
            harmless = all(target[0] == nodes.TO_NAME for target in node[3]) and self.expression(node[4])
            self.changed = True
            return harmless
        if kind == nodes.DEF:
            return not node[3] and node[4] is None
        if kind == nodes.IF:
            return self.expression(node[2]) and self.branches(node)
        if kind == nodes.TRY:
            return all(self.block(part) for part in (node[2], node[4], node[5]))
        return False

    def branches(self, node: Node) -> bool:
        outcome = None if self.changed else test_of(self.value(node[2]))
        if (
            outcome is not None
            and outcome.nominal is not None
            and not (outcome.when_true or outcome.when_false)
        ):
            return self.block(node[3] if outcome.nominal else node[4])
        return self.block(node[3]) and self.block(node[4])

    def expression(self, node: Node) -> bool:
        kind = node[0]
        if kind == nodes.CONST or kind == nodes.LAMBDA:
            return True
        if kind == nodes.NAME:
            return self.is_known(node) or self.is_local(node[1])
        if kind == nodes.ATTR:
            return _is_dotted(node) and self.is_known(node)
        if kind == nodes.NOT:
            return self.expression(node[1])
        if kind == nodes.BOOL:
            return all(self.expression(value) for value in node[2])
        if kind == nodes.IFEXP:
            return all(self.expression(part) for part in node[1:4])
        if kind == nodes.COMPARE:
            return set(node[2]) <= {"is", "is not", "==", "!="} and all(
                self.is_known(value) for value in (node[1], *node[3])
            )
        if kind == nodes.SEQUENCE:
            return node[1] != "set" and all(self.expression(element) for element in node[2])
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
        node = node[1]
    return bool(node[0] == nodes.NAME)
