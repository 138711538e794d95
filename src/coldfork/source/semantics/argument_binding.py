"""Binds the arguments of a call to parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from coldfork.source.syntax.nodes import Node, Parameters

V = TypeVar("V")


class BoundArguments(NamedTuple, Generic[V]):
    """The values that the parameters of a function get in a call."""

    given: dict[str, V]
    defaults: dict[str, Node]
    """Parameters that keep their default value."""
    unknown: tuple[str, ...]
    """Parameters whose value the call does not determine."""
    more_positional: tuple[V, ...]
    """The values that `*name` collects."""
    more_keywords: dict[str, V]
    """The values that `**name` collects."""


def bind(
    parameters: Parameters, positional: Sequence[V], keywords: Mapping[str, V], double_star: bool = False
) -> BoundArguments[V]:
    """Bind arguments to parameters; `double_star` means that `**` passes keywords with unknown names.

    Calls that Python rejects are bound as far as they go.
    """
    names, defaults, _, keyword_only, keyword_defaults, _, positional_only = parameters
    given = dict(zip(names, positional, strict=False))
    rest = dict(keywords)
    kept: dict[str, Node] = {}
    unknown: list[str] = []
    first_default = len(names) - len(defaults)
    for index in range(len(given), len(names)):
        name = names[index]
        by_name = index >= positional_only
        if by_name and name in rest:
            given[name] = rest.pop(name)
        elif index >= first_default and not (double_star and by_name):
            kept[name] = defaults[index - first_default]
        else:
            unknown.append(name)
    for name, default in zip(keyword_only, keyword_defaults, strict=True):
        if name in rest:
            given[name] = rest.pop(name)
        elif default is not None and not double_star:
            kept[name] = default
        else:
            unknown.append(name)
    return BoundArguments(given, kept, tuple(unknown), tuple(positional[len(names) :]), rest)
