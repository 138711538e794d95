"""The conditions of a path: tests quoted from the source, or words; and how conditions combine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from coldfork.source.syntax.nodes import NO_SPAN

#: With more paths than this, only the conditions that all of them share are kept.
_MOST_WAYS = 8
#: The meaning of a test, independent of its wording: nested tuples, with None for an unknown part.
Meaning = tuple[Any, ...]


class Condition(NamedTuple):
    """A condition of a path: a quoted test, or words; or a combination of several conditions."""

    module: str = ""
    span: tuple[int, int, int, int] = NO_SPAN
    negated: bool = False
    words: str = ""
    presumes: str = ""
    """The presumption on nominal paths, where this condition does not hold."""
    possible: bool = False
    """True for the choice of an override in a call that may be dispatched to several."""
    variable: str = ""
    """The environment variable that must be set for this condition to hold."""
    means: Meaning | None = None
    """The meaning of a quoted test: tests with the same meaning have the same outcome along one chain."""
    every: tuple[Condition, ...] = ()
    """The parts of a condition that holds only if all of them do."""
    some: tuple[Condition, ...] = ()
    """The parts of a condition that holds if one of them does."""


Conditions = tuple[Condition, ...]
#: The subject of a condition, and whether the condition is negated.
Literal = tuple[object, bool]


def negated(condition: Condition) -> Condition:
    """Return the condition that holds exactly if this one does not."""
    if condition.every or condition.some:
        every, some = condition.some, condition.every
        return _made(tuple(map(negated, every)), tuple(map(negated, some)))
    return condition._replace(negated=not condition.negated)


def all_of(*conditions: Condition | None) -> Condition | None:
    """Return the condition that all of these hold; None if there are none."""
    if len(conditions) == 2 and (conditions[0] is None or conditions[1] is None):
        return conditions[0] or conditions[1]
    parts = together(tuple([one for one in conditions if one is not None]))
    return parts[0] if len(parts) == 1 else _made(every=parts) if parts else None


def any_of(*conditions: Condition) -> Condition | None:
    """Return the condition that at least one of these holds; None if one is always true."""
    return all_of(*either([(condition,) for condition in conditions]))


def together(conditions: Conditions) -> Conditions:
    """Return the conditions with combined ones taken apart and duplicates removed."""
    if len(conditions) < 2 and not (conditions and conditions[0].every):
        return conditions
    found: dict[Literal, Condition] = {}
    for condition in conditions:
        for part in condition.every or (condition,):
            known = found.setdefault(literal(part), part)
            if known.possible and not part.possible:
                found[literal(part)] = part
    return tuple(found.values())


def either(ways: Iterable[Conditions]) -> Conditions:
    """Return the conditions for at least one of several paths to be taken; empty if some path has none."""
    left = _reduced([_literals(way) for way in _spliced(ways)])
    if not left or not all(left):
        return ()
    shared = set(left[0]).intersection(*left[1:])
    common = tuple([condition for key, condition in left[0].items() if key in shared])
    if len(left) == 1:
        return common
    if len(left) > _MOST_WAYS:
        return common or (Condition(words="one of many conditions holds"),)
    rest = tuple([
        parts[0] if len(parts) == 1 else _made(every=parts)
        for parts in [tuple([one for key, one in way.items() if key not in shared]) for way in left]
    ])  # fmt: skip
    return (*common, _made(some=rest))


def implies(known: Conditions, wanted: Conditions) -> bool:
    """Return whether `wanted` holds whenever `known` does, as far as their form shows."""
    ways = [_literals(way).keys() for way in _spliced([known])]
    targets = [_literals(way).keys() for way in _spliced([wanted])]
    return all(any(target <= way for target in targets) for way in ways)


def contradiction(conditions: Conditions) -> bool | None:
    """Return None if these conditions can all hold; else True, or False if they can because a test may change
    its answer.
    """
    asked = {one for condition in conditions for one in _asked(condition)}
    found = _denied(asked)
    for condition in conditions:
        if found is None and condition.some:
            outcomes = [_denied(asked.union(_asked(way))) for way in condition.some]
            if None not in outcomes:
                found = all(outcomes)
    return found


def opposed(conditions: Conditions) -> bool:
    """Return whether two of these are opposite outcomes of one test, if it runs only once."""
    asked = set(together(conditions))
    return contradiction(conditions) is not None or any(negated(one) in asked for one in asked)


def _denied(asked: set[Literal]) -> bool | None:
    """Return whether opposite outcomes are needed of a test whose answer cannot change; None if none are
    needed.
    """
    outcomes = [is_settled(subject) for subject, denied in asked if denied and (subject, False) in asked]
    return any(outcomes) if outcomes else None


def is_settled(subject: object) -> bool:
    """Return whether a test of this subject has the same answer for the life of the process."""
    if not isinstance(subject, tuple) or subject[0] == "words":
        return True
    if subject[0] in ("call", "external", "variable") and not subject[1]:
        return False
    return all(is_settled(part) for part in subject[1:] if isinstance(part, tuple))


def presumed_together(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    """Return the presumptions in either of the two, without duplicates."""
    if not right or left == right:
        return left
    return tuple(dict.fromkeys(left + right))


def presumptions(condition: Condition | None) -> tuple[str, ...]:
    """Return what is presumed on a path where this condition does not hold."""
    if condition is None:
        return ()
    if condition.some:
        return tuple(dict.fromkeys(said for part in condition.some for said in presumptions(part)))
    if condition.every:  # it is enough that one of them does not hold
        return next((said for said in map(presumptions, condition.every) if said), ())
    return (condition.presumes,) if condition.presumes and not condition.negated else ()


def variable_of(conditions: Conditions) -> str:
    """Return an environment variable that must be set for these conditions to hold; empty if
    there is none.
    """
    return next((part.variable for part in together(conditions) if part.variable and not part.negated), "")


def literal(condition: Condition) -> Literal:
    """Return the subject of a condition, and whether it is negated; conditions of equal meaning have equal
    results.
    """
    if condition.some:
        return ("some", tuple(map(literal, condition.some))), False
    if condition.every:
        return ("every", tuple(map(literal, condition.every))), False
    if condition.means is not None and not _is_vague(condition.means):
        return _positive(condition.means, condition.negated)
    if condition.words:
        return ("words", condition.words), condition.negated
    return (condition.module, *condition.span), condition.negated


def _made(every: Conditions = (), some: Conditions = ()) -> Condition:
    possible = any(one.possible for one in every) or (bool(some) and all(one.possible for one in some))
    return Condition(possible=possible, every=every, some=some)


def _literals(way: Conditions) -> dict[Literal, Condition]:
    return {literal(part): part for condition in way for part in condition.every or (condition,)}


def _spliced(ways: Iterable[Conditions]) -> list[Conditions]:
    """Return the paths; those that a combined condition stands for replace it."""
    found: list[Conditions] = []
    for way in ways:
        choices = [one for one in way if one.some]
        if len(choices) != 1 or len(way) > 3:
            found.append(way)
            continue
        rest = tuple([one for one in way if not one.some])
        found += [(*rest, *(one.every or (one,))) for one in choices[0].some]
    return found


def _reduced(ways: list[dict[Literal, Condition]]) -> list[dict[Literal, Condition]]:
    """Return an equivalent, smaller set of paths, without paths that need more than another one.

    If a path needs the opposite of a condition of another path, but otherwise only conditions that the other
    needs too, the other path's condition can be dropped.
    """
    changed = len(ways) <= 2 * _MOST_WAYS
    while changed:
        changed = False
        for way in ways:
            for other in ways:
                if other is way:
                    continue
                if way.keys() <= other.keys():
                    ways = [one for one in ways if one is not other]
                    changed = True
                    break
                for subject, denied in way:
                    denial = (subject, not denied)
                    if denial in other and way.keys() - {(subject, denied)} <= other.keys() - {denial}:
                        shorter = {key: one for key, one in other.items() if key != denial}
                        ways = [shorter if one is other else one for one in ways]
                        changed = True
                        break
                if changed:
                    break
            if changed:
                break
    return ways


def _positive(meaning: Meaning, denied: bool) -> tuple[Meaning, bool]:
    while meaning[0] == "not":
        meaning, denied = meaning[1], not denied
    return meaning, denied


def _is_vague(meaning: Meaning) -> bool:
    return any(part is None or (isinstance(part, tuple) and _is_vague(part)) for part in meaning[1:])


def _asked(condition: Condition) -> list[Literal]:
    """Return the single tests in a condition, each with the outcome that is needed."""
    if condition.every:
        return [one for part in condition.every for one in _asked(part)]
    if condition.words:
        return [literal(condition)] if condition.variable or condition.presumes or condition.means else []
    # A test that is known only by its position may test other values the next time.
    found: list[Literal] = []
    pending = [(condition.means, condition.negated)] if condition.means is not None else []
    while pending:
        meaning, denied = _positive(*pending.pop())
        if meaning[0] == ("or" if denied else "and"):
            pending += [(part, denied) for part in meaning[1:] if part is not None]
        if not _is_vague(meaning):
            found.append((meaning, denied))
    return found
