"""Which case of a `match` runs and what it binds: CPython is asked, for subjects known in part or whole."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from coldfork.source.semantics.matching import SELF_MATCHING, Candidate, Elements, Matching
from coldfork.source.syntax import nodes
from coldfork.source.syntax.nodes import Node
from coldfork.source.syntax.summary import summarise

#: A value of which nothing is known.
HIDDEN = SimpleNamespace()


@dataclass
class Point:
    """A class that patterns take apart."""

    x: object
    y: object


class Bare:
    """A class without `__match_args__`, with an attribute."""

    x = 1


class Hazy(Point):
    """A class of which it is not known what its patterns ask for, nor what its objects have."""


class Unsure(dict[str, object]):
    """A mapping that may lack its keys."""


SPACE = {
    "Point": Point,
    "Bare": Bare,
    "Hazy": Hazy,
    "one": SimpleNamespace(number=1, text="a"),
    "no": False,
    "yes": True,
}


class Known(Matching[Any]):
    """Patterns over Python's own values: what is not hidden is known."""

    def __init__(self, guards: bool = True) -> None:
        self.guards = guards
        """Whether guards can be asked."""
        self.names: dict[str, object] = {}

    def value(self, node: Node) -> Any:
        """Return the value of an expression."""
        match node:
            case (nodes.CONST, constant):
                return constant
            case (nodes.NAME, name, _):
                return {**vars(builtins), **SPACE, **self.names}[name]
            case (nodes.ATTR, owner, name, _):
                return getattr(self.value(owner), name)
            case (nodes.UNARY, "-", operand):
                return -self.value(operand)
        raise TypeError(node)

    def holds(self, candidate: Candidate[Any]) -> bool | None:
        assert candidate.case is not None
        assert candidate.case.guard is not None
        self.names = candidate.names
        value = self.value(candidate.case.guard)
        return None if value is HIDDEN or not self.guards else bool(value)

    def equals(self, subject: Any, wanted: Node) -> bool | None:
        return None if subject is HIDDEN else subject == self.value(wanted)

    def is_constant(self, subject: Any, constant: bool | None) -> bool | None:
        return None if subject is HIDDEN else subject is constant

    def is_instance(self, subject: Any, cls: Node) -> bool | None:
        return None if subject is HIDDEN else isinstance(subject, self.value(cls))

    def is_mapping(self, subject: Any) -> bool | None:
        return None if subject is HIDDEN else isinstance(subject, dict)

    def elements(self, subject: Any) -> Elements[Any]:
        if subject is HIDDEN:
            return Elements(None)
        known = isinstance(subject, Sequence) and not isinstance(subject, (str, bytes))
        return Elements(known, tuple(subject) if known else (), known)

    def entry(self, subject: Any, key: Node) -> tuple[bool | None, Any]:
        wanted = self.value(key)
        if subject is HIDDEN:
            return None, HIDDEN
        there = None if isinstance(subject, Unsure) else wanted in subject
        return there, subject.get(wanted, HIDDEN)

    def attribute(self, subject: Any, name: str) -> tuple[bool | None, Any]:
        if not name or subject is HIDDEN:
            return None, HIDDEN
        there = None if isinstance(subject, Hazy) else hasattr(subject, name)
        return there, getattr(subject, name, HIDDEN)

    def match_arguments(self, cls: Node) -> Sequence[str | None] | None:
        kind = self.value(cls)
        if kind is Hazy:
            return None
        if kind.__name__ in SELF_MATCHING:
            return (None,)
        return getattr(kind, "__match_args__", None)

    def either(self, values: Sequence[Any]) -> Any:
        return values[0] if all(one is values[0] for one in values) else HIDDEN

    def listed(self, items: Sequence[Any]) -> Any:
        return list(items)

    def unknown(self) -> Any:
        return HIDDEN


#: Cases of a `match`, one a line.
MATCHES = [
    "1\n2\n_",
    "1 | 2\nx",
    "None\nTrue\nFalse\nx",
    "one.number\none.text\nx",
    "-1\n'a'\nb'a'",
    "x if no\nx if yes",
    "x if x\n_",
    "int()\nstr()\n_",
    "int(x) | str(x)\n[x]",
    "[]\n[x]\n[x, y]\n_",
    "[*_]\nx",
    "[*rest]\nx",
    "[x, *rest]\n_",
    "[*rest, x]\n_",
    "[x, *rest, y]\n_",
    "[1, *rest]\n[2, *_]\n[x]\n_",
    "[x, 1 as y]\n[x, y]\n_",
    "[[x], y]\n[x, [y]]\nx",
    "{}\nx",
    "{'a': x}\n{'b': x}\nx",
    "{'a': 1, **rest}\n{'a': x, **rest}\nx",
    "{'a': 1, 'b': x}\n{'a': x}\n_",
    "{'a': {'b': x}}\n{'a': [x, *_]}\n_",
    "{**rest}\n_",
    "Point(1, x)\nPoint(x, y=1)\nPoint(x, y)\n_",
    "Point(x=1)\nPoint()\nBare(x=x)\n_",
    "Bare(y=x)\nBare()\n_",
    "Point([x, *_]) | [x, *_]\n_",
    "dict(x)\nlist(x)\ntuple(x)\nx",
    "(1 | 2) as x\n([] | [_]) as x\nx",
    "[1 | 2 as x, y] if yes\n[x, y] if no\n_",
    "[x, y] if y\n[x, y]\n_",
    "{'a': 1, 'b': x} | {'b': _, 'a': x}\n_",
    "{'a': x} | {'b': x}\n_",
    "[1, x] | [x, _]\n_",
    "None | [None]\n[x] | (x, _)",
    "[x, [y, *_]] | [[x, *_], y]\n_",
]
SUBJECTS = [
    0, 1, 2, -1, True, False, None, "a", "", b"a", 1.0, [], [1], [2], [None], [1, 2], (1, 1), (2, 0),
    (0, 1, 2), [[1], 2], [1, [2]], [[1], [2]], {}, {"a": 1}, {"a": 2, "b": 3}, {"a": 1, "b": 2}, {"b": 0},
    {"a": {"b": 1}}, {"a": [1, 2]}, Point(1, 2), Point(2, 1), Point(2, 3), Point([1, 2], 3),
    Bare(), {1}, range(2),
]  # fmt: skip


def taken(cases: str, subject: object) -> tuple[int | None, dict[str, object]]:
    """The case that CPython takes, and what it binds."""
    lines = cases.split("\n")
    index, _ = run(lines, subject)
    # On its own, for what fails half-way binds names as well.
    return index, run([lines[index]], subject)[1] if index is not None else {}


def run(lines: list[str], subject: object) -> tuple[int | None, dict[str, object]]:
    """The case that CPython takes, and all names that are bound."""
    text = [f"    case {case}: taken = {index}" for index, case in enumerate(lines)]
    space: dict[str, object] = {"taken": None, "subject": subject}
    exec("match subject:\n" + "\n".join(text), dict(SPACE), space)
    index = space.pop("taken")
    del space["subject"]
    assert index is None or isinstance(index, int)
    return index, space


@cache
def lowered(cases: str) -> Node:
    """A `match` with these cases."""
    lines = [f"    case {case}: pass" for case in cases.split("\n")]
    summary = summarise(("match subject:\n" + "\n".join(lines) + "\n").encode(), (3, 13))
    (statement,) = [node for node in summary.body if node[0] == nodes.MATCH]
    return statement


def candidates(matching: Known, cases: str, subjects: Sequence[object]) -> list[Candidate[Any]]:
    """The cases that may run."""
    return list(matching.candidates(subjects, lowered(cases)[3]))


def index_of(candidate: Candidate[Any]) -> int | None:
    """Which case it is, by its line."""
    return candidate.case.line - 2 if candidate.case is not None else None


@pytest.mark.parametrize("cases", MATCHES)
def test_of_a_known_subject_cpython_s_case_is_taken(cases: str) -> None:
    for subject in SUBJECTS:
        index, names = taken(cases, subject)
        *passed, last = candidates(Known(), cases, [subject])
        assert passed == []
        assert (index_of(last), last.taken) == (index, {0: True}), subject
        assert set(last.names) == set(names), subject
        # Of what is left of a mapping nothing is known.
        known = {name: value for name, value in last.names.items() if value is not HIDDEN}
        assert names == {**names, **known}, subject
        assert known.keys() == names.keys() - {"rest"} or known.keys() == names.keys(), subject


def partly_hidden(subject: Any) -> Iterator[Any]:
    """The same subject, hidden, and with what is in it hidden, all of it or one part."""
    yield HIDDEN
    match subject:
        case list() | tuple():
            yield type(subject)(HIDDEN for _ in subject)
            for index in range(len(subject)):
                yield type(subject)((*subject[:index], HIDDEN, *subject[index + 1 :]))
        case dict():
            yield dict.fromkeys(subject, HIDDEN)
            yield from ({**subject, key: HIDDEN} for key in subject)
        case Point():
            yield Point(HIDDEN, HIDDEN)
            yield Point(subject.x, HIDDEN)
            yield Point(HIDDEN, subject.y)
    yield subject


@pytest.mark.parametrize("cases", MATCHES)
@pytest.mark.parametrize("guards", [True, False])
def test_of_a_hidden_subject_cpython_s_case_is_among_those_that_may_be(cases: str, guards: bool) -> None:
    for subject in SUBJECTS:
        index, names = taken(cases, subject)
        for known in partly_hidden(subject):
            found = candidates(Known(guards), cases, [known])
            (right,) = [one for one in found if index_of(one) == index]
            sure = [index_of(one) for one in found if one.taken[0]]
            assert sure in ([], [index]), (subject, known)
            assert right.names.keys() == names.keys(), (subject, known)
            assert all(agree(value, names[name]) for name, value in right.names.items()), (subject, known)


def agree(known: Any, value: Any) -> bool:
    """True when what is known of a value may be so."""
    match known:
        case list() | tuple():
            return len(known) == len(value) and all(map(agree, known, value))
        case dict():
            return known.keys() == value.keys() and all(agree(known[key], value[key]) for key in known)
        case Point():
            return agree(known.x, value.x) and agree(known.y, value.y)
    return known is HIDDEN or known == value


@pytest.mark.parametrize("cases", [one for one in MATCHES if " if " not in one])
def test_of_several_subjects_each_takes_its_own_case(cases: str) -> None:
    wanted: dict[int | None, dict[int, bool]] = {}
    for number, subject in enumerate(SUBJECTS):
        wanted.setdefault(taken(cases, subject)[0], {})[number] = True
    found = candidates(Known(), cases, SUBJECTS)
    assert {index_of(one): one.taken for one in found} == wanted


@pytest.mark.parametrize("guard", [True, False])
def test_a_guard_that_cannot_be_asked_leaves_the_later_cases(guard: bool) -> None:
    """And what is known before is not forgotten."""
    found = candidates(Known(guard), "x if yes\n1\n_", [1, 2])
    outcome = [(index_of(one), one.taken) for one in found]
    if guard:
        assert outcome == [(0, {0: True, 1: True})]
    else:
        assert outcome == [(0, {0: False, 1: False}), (1, {0: False}), (2, {1: False})]


def test_of_a_mapping_that_may_lack_a_key_only_its_value_can_match() -> None:
    found = candidates(Known(), "{'a': 1}\n{'a': 2}\n{'a': x}\n{}\n_", [Unsure(a=2)])
    assert [(index_of(one), one.taken) for one in found] == [
        (1, {0: False}),
        (2, {0: False}),
        (3, {0: False}),
    ]


def test_of_an_object_that_may_lack_an_attribute_only_its_value_can_match() -> None:
    found = candidates(Known(), "Hazy(3, y=_)\nHazy(y=3)\nHazy(y=2)\n_", [Hazy(1, 2)])
    assert [(index_of(one), one.taken) for one in found] == [
        (0, {0: False}),
        (2, {0: False}),
        (3, {0: False}),
    ]


def test_what_two_ways_bind_differently_is_not_known() -> None:
    (found,) = candidates(Known(), "[x, *_]", [[1], [2]])[:1]
    assert (found.taken, found.names) == ({0: True, 1: True}, {"x": HIDDEN})
    (found,) = candidates(Known(), "[x, *_]", [[1], [1]])[:1]
    assert found.names == {"x": 1}
