"""`match` in code around and inside a capture: the cases that can run, each followed with what it binds."""

from __future__ import annotations

from collections.abc import Sequence

from coldfork.source.capture.calls.recording import ask_truth, record_truth_test
from coldfork.source.capture.contents.attributes import attribute
from coldfork.source.capture.contents.comparison import compared, instance_of
from coldfork.source.capture.contents.containers import collected
from coldfork.source.capture.following import Following
from coldfork.source.capture.history import choices
from coldfork.source.capture.history.keys import of_constant
from coldfork.source.capture.objects import Object, Value
from coldfork.source.capture.statements.branches import Way, either, follow_ways
from coldfork.source.semantics.matching import SELF_MATCHING, Candidate, Elements, Matching
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.quoting import text_of
from coldfork.source.values.conditions import Condition
from coldfork.source.values.kinds import ClassRef, Const, External


def match_(f: Following, node: Node) -> bool:
    """Follow the cases of a `match` that can run; True when nothing behind it is reached."""
    _, line, subject, cases = node
    matching = _Matching(f, subject)
    with choices.reading(f) as reads:
        # One block runs at most, and it is the last thing that does: every guard is asked before.
        candidates = list(matching.candidates([f.evaluate(subject)], cases))
    ways = [matching.way(one) for one in candidates]
    if len(ways) != 1:
        return follow_ways(f, ways)
    site = choices.Site(f.frame.func.module.name, line, text_of(subject))
    return choices.go(f, site, ways[0].block, reads, lambda: follow_ways(f, ways))


class _Matching(Matching[Value]):
    """What is known of the subject of a `match`."""

    def __init__(self, f: Following, subject: Node) -> None:
        self.f = f
        self.subject = subject
        self.level = f.level(subject)
        self.compares = False
        """True once a comparison was met of which nothing is known."""

    def way(self, candidate: Candidate[Value]) -> Way:
        """How a case is followed."""
        case = candidate.case
        self.f.frame.env.levels |= dict.fromkeys(candidate.names, self.level)
        if case is None:
            return Way(None if candidate.taken[0] else Condition(words="no case matches"), ())
        _, _, block, line = case
        sure = candidate.taken[0]
        return Way(
            None if sure else Condition(words=f"the case at line {line} matches"), block, candidate.names
        )

    def holds(self, candidate: Candidate[Value]) -> bool | None:
        assert candidate.case is not None
        _, guard, _, line = candidate.case
        assert guard is not None
        frame = self.f.frame
        condition, _, names = self.way(candidate)
        outer = frame.conditions
        frame.line = line
        frame.env.names |= names or {}
        frame.conditions = (*outer, condition) if condition is not None else outer
        known = ask_truth(self.f, guard)
        frame.conditions = outer
        return known

    def equals(self, subject: Value, wanted: Node) -> bool | None:
        known = compared(subject, "==", self.f.evaluate(wanted))
        if known is None and not self.compares:
            self.compares = True  # later cases are compared only if this one does not match
            record_truth_test(self.f, subject, self.subject, "the value of ")
        return known

    def is_constant(self, subject: Value, constant: bool | None) -> bool | None:
        return compared(subject, "is", Const(constant))

    def is_instance(self, subject: Value, cls: Node) -> bool | None:
        return instance_of(self.f.names, subject, self.f.evaluate(cls))

    def is_mapping(self, subject: Value) -> bool | None:
        if type(subject) is not Object or subject.tensor is not None:
            return False
        return subject.kind == "dict" if subject.kind else None

    def elements(self, subject: Value) -> Elements[Value]:
        if type(subject) is not Object or subject.tensor is not None:
            return Elements(False)
        items = subject.elements()
        sequence = subject.kind in ("list", "tuple") if subject.kind else None
        return Elements(sequence) if items is None else Elements(True, items, True)

    def entry(self, subject: Value, key: Node) -> tuple[bool | None, Value]:
        wanted = self.f.evaluate(key)
        if type(subject) is Object and isinstance(wanted, Const):
            place = f"[{of_constant(wanted.value)}]"
            if subject.keys is None:
                return None, subject.part(place)
            if place in subject.keys:
                return True, subject.parts[place]
            return False, self.unknown()
        return None, self.unknown()

    def attribute(self, subject: Value, name: str) -> tuple[bool | None, Value]:
        if not name:
            return None, self.unknown()
        there = type(subject) is Object and name in subject.parts
        return there or None, attribute(self.f, subject, name)

    def match_arguments(self, cls: Node) -> Sequence[str | None] | None:
        kind = self.f.evaluate(cls)
        if isinstance(kind, External):
            return (None,) if kind.name in SELF_MATCHING else None
        return self.f.names.match_arguments(kind) if isinstance(kind, ClassRef) else None

    def either(self, values: Sequence[Value]) -> Value:
        return either(self.f, "it", list(values))

    def listed(self, items: Sequence[Value]) -> Value:
        return collected(self.f, "rest", "list", list(items), True)

    def unknown(self) -> Value:
        return self.f.fresh("it")
