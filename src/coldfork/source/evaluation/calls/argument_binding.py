"""Arguments of a call: which of them split it, and what its parameters hold."""

from __future__ import annotations

from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.syntax.nodes import Node
from coldfork.source.values.kinds import (
    UNKNOWN,
    ClassEnv,
    Const,
    Env,
    Function,
    Keywords,
    Mapping,
    Sequence,
    Union,
    Unknown,
    Value,
)

_MOST_COMBINATIONS = 8


def first_union(positional: tuple[Value, ...], keywords: Keywords, combinations: int) -> int | str | None:
    """An argument that is one of few values: the call is followed for each, as long as that stays few."""
    most = _MOST_COMBINATIONS // combinations
    for index, value in enumerate(positional):
        if type(value) is Union and len(value.alternatives) <= most and _tells(value):
            return index
    for name, value in keywords.items():
        if type(value) is Union and name is not None and len(value.alternatives) <= most and _tells(value):
            return name
    return None


def _tells(value: Union) -> bool:
    """Whether following the alternatives one by one shows more than following them together."""
    return not any(type(single) is Unknown and condition is None for single, condition in value.alternatives)


def bind_arguments(
    ev: Interpreter,
    inner: Frame,
    function: Function,
    parameters: Node,
    positional: tuple[Value, ...],
    keywords: Keywords,
) -> None:
    """Give every parameter its argument, its default, or the unknown."""
    names, defaults, star, keyword_only, keyword_defaults, double_star = parameters
    assert inner.env is not None
    env = inner.env.names
    for name, value in zip(names, positional, strict=False):
        env[name] = value
    rest = dict(keywords)
    spread = None in rest
    rest.pop(None, None)
    first_default = len(names) - len(defaults)
    for index, name in enumerate(names):
        if name in rest:
            env[name] = rest.pop(name)
        elif name not in env:
            if index >= first_default and not spread:
                env[name] = ev.quietly(function.module, _defining(function), defaults[index - first_default])
            else:
                env[name] = UNKNOWN
    for name, default in zip(keyword_only, keyword_defaults, strict=True):
        if name in rest:
            env[name] = rest.pop(name)
        elif default is not None and not spread:
            env[name] = ev.quietly(function.module, _defining(function), default)
        else:
            env[name] = UNKNOWN
    if star is not None:
        env[star] = Sequence("tuple", tuple(positional[len(names) :]))
    if double_star is not None:
        env[double_star] = Mapping({Const(name): value for name, value in rest.items()}, not spread)


def _defining(function: Function) -> Env | None:
    """Where default values are evaluated: in the class body for a method, else around the function."""
    if function.owner is not None:
        return ClassEnv(function.owner)
    return function.env
