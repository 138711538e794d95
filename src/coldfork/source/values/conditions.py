"""What has to hold for a path to be taken."""

from __future__ import annotations

from typing import NamedTuple

from coldfork.source.syntax.nodes import NO_SPAN


class Condition(NamedTuple):
    """Something that has to hold for a path to be taken: a quoted test, or words."""

    module: str = ""
    span: tuple[int, int, int, int] = NO_SPAN
    negated: bool = False
    words: str = ""
    presumes: str = ""
    """What is presumed when the path that needs this condition is not the nominal one."""
    possible: bool = False
    """True for dynamic dispatch that could not be narrowed."""
    variable: str = ""
    """The environment variable that has to be set for it to hold."""


def negated(condition: Condition) -> Condition:
    """The condition that this one does not hold."""
    if condition.words:
        return condition._replace(
            words=condition.words.removeprefix("not: ")
            if condition.words.startswith("not: ")
            else f"not: {condition.words}",
            variable="",
        )
    return condition._replace(negated=not condition.negated)


def variable_of(conditions: tuple[Condition, ...]) -> str:
    """An environment variable that has to be set for all of them to hold; empty where none has."""
    return next((condition.variable for condition in conditions if condition.variable), "")
