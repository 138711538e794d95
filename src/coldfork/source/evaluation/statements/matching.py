"""`match` statements: the cases that can run, each followed under its conditions."""

from __future__ import annotations

import builtins
from collections.abc import Sequence as Items
from typing import NamedTuple

from coldfork.source.evaluation.flow.branches import FALLS, Branches
from coldfork.source.evaluation.flow.truth_tests import Test, test_of, tested
from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.evaluation.objects.assignment import bind_name, stored
from coldfork.source.evaluation.objects.protocols import iterate
from coldfork.source.semantics.matching import SELF_MATCHING, Candidate, Elements, Matching
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.conditions import Condition, any_of, presumptions
from coldfork.source.values.kinds import (
    UNKNOWN,
    Attributes,
    ClassRef,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    ModuleRef,
    Sequence,
    Unknown,
    Value,
)
from coldfork.source.values.unions import alternatives, truth, union

#: Values that are certainly neither sequences nor dictionaries.
_SCALARS = (Function, ClassRef, ModuleRef)


def match_(ev: Interpreter, frame: Frame, node: Node) -> int:
    """Follow the cases of a `match` that can run."""
    _, line, subject, cases = node
    frame.at(line, line)
    options = alternatives(ev.evaluate(frame, subject))
    matching = _Matching(ev, frame, options)
    # All guards are evaluated before the block of a case runs, and only one block runs.
    candidates = list(matching.candidates([value for value, _ in options], cases))
    branches = Branches(ev, frame)
    for candidate in candidates:
        way = matching.way(candidate)

        def follow(candidate: Candidate[Value] = candidate) -> int:
            matching.bind(candidate)
            return FALLS if candidate.case is None else ev.execute(frame, candidate.case.block)

        branches.follow(follow, way.condition, way.nominal, way.presumes)
    return branches.leave()


class _Way(NamedTuple):
    """The condition under which a case is reached, and whether that is on the nominal path."""

    condition: Condition | None
    nominal: bool
    presumes: tuple[str, ...] = ()


class _Matching(Matching[Value]):
    """Answers questions about the possible values of a `match` statement's subject."""

    def __init__(
        self, ev: Interpreter, frame: Frame, options: tuple[tuple[Value, Condition | None], ...]
    ) -> None:
        self.ev = ev
        self.frame = frame
        self.options = options
        self.against: dict[int, Condition] = {}
        """For each case whose guard is nominally false, by line: the condition under which the guard
        holds.
        """

    def way(self, candidate: Candidate[Value]) -> _Way:
        """Return the condition under which a case is reached."""
        case, taken = candidate.case, candidate.taken
        if case is not None and case.line in self.against:
            return _Way(self.against[case.line], False)
        nominal = [index for index, (_, condition) in enumerate(self.options) if condition is None]
        if not any(index in taken for index in nominal):
            needed = [condition for index in taken if (condition := self.options[index][1]) is not None]
            return _Way(any_of(*needed), False)
        if all(taken.get(index) for index in nominal):
            left = [one for index, (_, one) in enumerate(self.options) if index not in taken]
            return _Way(None, True, presumptions(any_of(*[one for one in left if one is not None])))
        if case is None:
            return _Way(None, True)
        words = f"the case at line {case.line} of {self.frame.module.name} matches"
        return _Way(Condition(words=words), True)

    def bind(self, candidate: Candidate[Value]) -> None:
        """Bind the names of a pattern."""
        for name, value in candidate.names.items():
            if stored(self.frame, name):
                bind_name(self.ev, self.frame, name, value)

    def holds(self, candidate: Candidate[Value]) -> bool | None:
        assert candidate.case is not None
        _, guard, _, line = candidate.case
        assert guard is not None
        way = self.way(candidate)
        outcomes: list[Test] = []

        def ask() -> int:
            self.bind(candidate)
            outcomes.append(test_of(tested(self.ev, self.frame, self.ev.evaluate(self.frame, guard))))
            return FALLS

        if way.condition is None:
            ask()
        else:
            branches = Branches(self.ev, self.frame)
            branches.follow(ask, way.condition, way.nominal)
            branches.follow(lambda: FALLS, None, True)
            branches.join()
        if not outcomes:
            return False  # evaluating the guard raises
        (outcome,) = outcomes
        if outcome.nominal is False and outcome.when_true is not None:
            self.against[line] = outcome.when_true
            return None
        return outcome.nominal if outcome.when_false is None else None

    def equals(self, subject: Value, wanted: Node) -> bool | None:
        return self._same("==", subject, self.ev.evaluate(self.frame, wanted))

    def is_constant(self, subject: Value, constant: bool | None) -> bool | None:
        return self._same("is", subject, Const(constant))

    def _same(self, operator: str, left: Value, right: Value) -> bool | None:
        return test_of(self.ev.compare(self.frame, operator, left, right)).nominal

    def is_instance(self, subject: Value, cls: Node) -> bool | None:
        kind = self.ev.evaluate(self.frame, cls)
        return truth(self.ev.call(self.frame, External("builtins.isinstance"), (subject, kind)))

    def is_mapping(self, subject: Value) -> bool | None:
        if isinstance(subject, (Mapping, Attributes)):
            return True
        return False if isinstance(subject, (*_SCALARS, Const, Sequence)) else None

    def elements(self, subject: Value) -> Elements[Value]:
        if isinstance(subject, Const) and not isinstance(subject.value, tuple):
            return Elements(False)
        if isinstance(subject, (*_SCALARS, Mapping)) or (
            isinstance(subject, Sequence) and subject.kind not in ("list", "tuple")
        ):
            return Elements(False)
        if isinstance(subject, (Const, Sequence)):
            items, exact = iterate(self.ev, self.frame, subject)
            return Elements(True, items, exact)
        return Elements(None)

    def entry(self, subject: Value, key: Node) -> tuple[bool | None, Value]:
        wanted = self.ev.evaluate(self.frame, key)
        if isinstance(subject, Attributes):
            subject = subject.held
        if isinstance(subject, Mapping) and isinstance(wanted, Const):
            if wanted in subject.items:
                return True, subject.items[wanted]
            if subject.exact and all(isinstance(one, Const) for one in subject.items):
                return False, UNKNOWN
        return None, UNKNOWN

    def attribute(self, subject: Value, name: str) -> tuple[bool | None, Value]:
        if not name or isinstance(subject, Unknown):
            return None, UNKNOWN
        value = self.ev.attribute(self.frame, subject, name)
        there = isinstance(subject, Instance) and not subject.open and value is not UNKNOWN
        return there or None, value

    def match_arguments(self, cls: Node) -> Items[str | None] | None:
        kind = self.ev.evaluate(self.frame, cls)
        if isinstance(kind, External):
            name = kind.name.removeprefix("builtins.")
            return (None,) if name in SELF_MATCHING and hasattr(builtins, name) else None
        held = self.ev.member(kind, "__match_args__") if isinstance(kind, ClassRef) else None
        if held is None:
            return None
        items, exact = iterate(self.ev, self.frame, held.value)
        names = [item.value for item in items if isinstance(item, Const) and isinstance(item.value, str)]
        return names if exact and len(names) == len(items) else None

    def either(self, values: Items[Value]) -> Value:
        return union(values)

    def listed(self, items: Items[Value]) -> Value:
        return Sequence("list", tuple(items))

    def unknown(self) -> Value:
        return UNKNOWN
