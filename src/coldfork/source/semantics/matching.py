"""`match` statements: which cases can run, given the facts known about the subject."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Case, Node

V = TypeVar("V")
#: Classes for which a positional pattern, as in `int(x)`, binds the subject itself.
SELF_MATCHING = frozenset(
    {"bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"}
)


class Elements(NamedTuple, Generic[V]):
    """The facts about a subject of `match` that matter if it is a sequence."""

    sequence: bool | None
    """Whether the subject is a sequence; in patterns, a text is not one."""
    items: Sequence[V] = ()
    exact: bool = False
    """True if the subject is a sequence with no other items than these."""


class Candidate(NamedTuple, Generic[V]):
    """A case that can run; None in the last candidate means that no case matches."""

    case: Case | None
    taken: dict[int, bool]
    """The subjects that can take the case, by index, and whether each certainly does."""
    names: dict[str, V]
    """The names that the pattern of the case binds."""


class Matching(ABC, Generic[V]):
    """Finds the cases of a `match` that can run, for subjects that are fully, partly or not known."""

    def candidates(self, subjects: Sequence[V], cases: Iterable[Node]) -> Iterator[Candidate[V]]:
        """Yield the cases that can run for any of the subjects, in order; guards are evaluated on the way."""
        left = dict.fromkeys(range(len(subjects)), True)  # True if the subject certainly reaches this case
        for case in map(Case._make, cases):
            matched: dict[int, bool | None] = {}
            ways: list[dict[str, V]] = []
            for index in left:
                bound: dict[str, V] = {}
                outcome = self.matches(case.pattern, subjects[index], bound)
                if outcome is not False:
                    matched[index] = outcome
                    ways.append(bound)
            if not matched:
                continue
            taken = {index: left[index] and outcome is True for index, outcome in matched.items()}
            candidate = Candidate(case, taken, self._joined(ways))
            holds = True if case.guard is None else self.holds(candidate)
            if holds is False:
                continue
            if holds is None:
                matched = dict.fromkeys(matched)
                candidate = candidate._replace(taken=dict.fromkeys(taken, False))
            yield candidate
            for index, outcome in matched.items():
                if outcome is True:
                    del left[index]
                else:
                    left[index] = False
            if not left:
                return
        yield Candidate(None, left, {})

    def matches(self, pattern: Node, subject: V, bound: dict[str, V]) -> bool | None:
        """Return whether a pattern matches; None if unknown. The names that it binds are added to `bound`."""
        match pattern:
            case (nodes.CASE_VALUE, expression):
                return self.equals(subject, expression)
            case (nodes.CASE_CONSTANT, constant):
                return self.is_constant(subject, constant)
            case (nodes.CASE_OR, patterns):
                return self._any(patterns, subject, bound)
            case (nodes.CASE_SEQUENCE, patterns):
                return self._sequence(patterns, self.elements(subject), bound)
            case (nodes.CASE_MAPPING, *_):
                return self._mapping(pattern, subject, bound)
            case (nodes.CASE_CLASS, *_):
                return self._class(pattern, subject, bound)
        _, inner, name = pattern
        outcome = True if inner is None else self.matches(inner, subject, bound)
        if name is not None:
            bound[name] = subject
        return outcome

    def _any(self, patterns: tuple[Node, ...], subject: V, bound: dict[str, V]) -> bool | None:
        ways: list[dict[str, V]] = []
        outcome: bool | None = False
        for pattern in patterns:
            names: dict[str, V] = {}
            one = self.matches(pattern, subject, names)
            if one is False:
                continue
            ways.append(names)
            outcome = one
            if one is True:
                break
        bound.update(self._joined(ways))
        return outcome

    def _all(self, pairs: Iterable[tuple[Node, V]], bound: dict[str, V]) -> bool | None:
        outcome: bool | None = True
        for pattern, subject in pairs:
            one = self.matches(pattern, subject, bound)
            if one is False:
                return False
            outcome = outcome and one
        return outcome

    def _sequence(
        self, patterns: tuple[Node, ...], elements: Elements[V], bound: dict[str, V]
    ) -> bool | None:
        if elements.sequence is False:
            return False
        items = elements.items
        star = next((i for i, pattern in enumerate(patterns) if pattern[0] == nodes.CASE_STAR), None)
        if not elements.exact:
            names = [one for one in patterns if one[0] != nodes.CASE_STAR]
            self._all([(one, self.unknown()) for one in names], bound)
            self._rest(patterns, star, None, bound)
            return None
        if star is None:
            if len(items) != len(patterns):
                return False
            outcome = self._all(zip(patterns, items, strict=True), bound)
        else:
            behind = len(patterns) - star - 1
            if len(items) < star + behind:
                return False
            stop = len(items) - behind
            ends = (*zip(patterns[:star], items[:star], strict=True),)
            ends += (*zip(patterns[star + 1 :], items[stop:], strict=True),)
            outcome = self._all(ends, bound)
            self._rest(patterns, star, items[star:stop], bound)
        return outcome

    def _rest(
        self, patterns: tuple[Node, ...], star: int | None, items: Sequence[V] | None, bound: dict[str, V]
    ) -> None:
        """Bind the name in `*rest` to the remaining items."""
        if star is None:
            return
        _, name = patterns[star]
        if name is not None:
            bound[name] = self.unknown() if items is None else self.listed(items)

    def _mapping(self, pattern: Node, subject: V, bound: dict[str, V]) -> bool | None:
        _, keys, patterns, rest = pattern
        outcome = self.is_mapping(subject)
        if outcome is False:
            return False
        for key, inner in zip(keys, patterns, strict=True):
            there, value = self.entry(subject, key)
            one = self.matches(inner, value, bound) if there is not False else False
            if one is False:
                return False
            outcome = outcome and there and one
        if rest is not None:
            bound[rest] = self.unknown()
        return outcome

    def _class(self, pattern: Node, subject: V, bound: dict[str, V]) -> bool | None:
        _, cls, positional, names, named = pattern
        outcome = self.is_instance(subject, cls)
        if outcome is False:
            return False
        own = self.match_arguments(cls) if positional else ()
        asked: list[tuple[str | None, Node]] = []
        if own is None:
            asked += [("", inner) for inner in positional]
        else:
            asked += zip(own, positional, strict=False)
        asked += zip(names, named, strict=True)
        for name, inner in asked:
            there, value = (True, subject) if name is None else self.attribute(subject, name)
            one = self.matches(inner, value, bound)
            if one is False:
                return False
            outcome = outcome and there and one
        return outcome

    def _joined(self, ways: list[dict[str, V]]) -> dict[str, V]:
        names = dict.fromkeys(name for bound in ways for name in bound)
        return {name: self.either([bound[name] for bound in ways if name in bound]) for name in names}

    # -- questions about values ---------------------------------------------------------------------------

    @abstractmethod
    def holds(self, candidate: Candidate[V]) -> bool | None:
        """Return whether the guard of a case holds after its pattern has matched; None if unknown."""

    @abstractmethod
    def equals(self, subject: V, wanted: Node) -> bool | None:
        """Return whether the subject equals the value of an expression."""

    @abstractmethod
    def is_constant(self, subject: V, constant: bool | None) -> bool | None:
        """Return whether the subject is None, True or False."""

    @abstractmethod
    def is_instance(self, subject: V, cls: Node) -> bool | None:
        """Return whether the subject is an object of a class."""

    @abstractmethod
    def is_mapping(self, subject: V) -> bool | None:
        """Return whether the subject is a mapping, such as a dictionary."""

    @abstractmethod
    def elements(self, subject: V) -> Elements[V]:
        """Return the facts about the subject that matter if it is a sequence."""

    @abstractmethod
    def entry(self, subject: V, key: Node) -> tuple[bool | None, V]:
        """Return whether a mapping has a key, and its value."""

    @abstractmethod
    def attribute(self, subject: V, name: str) -> tuple[bool | None, V]:
        """Return whether the subject has an attribute, and the value; both are unknown if `name` is empty."""

    @abstractmethod
    def match_arguments(self, cls: Node) -> Sequence[str | None] | None:
        """Return the attributes that a class's positional patterns test; None stands for the subject
        itself.
        """

    @abstractmethod
    def either(self, values: Sequence[V]) -> V:
        """Return a value that may be any of these."""

    @abstractmethod
    def listed(self, items: Sequence[V]) -> V:
        """Return a list of these values."""

    @abstractmethod
    def unknown(self) -> V:
        """Return an unknown value."""
