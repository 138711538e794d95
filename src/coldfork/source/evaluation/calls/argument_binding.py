"""The arguments of a call: the alternatives to follow separately, and the values of the parameters."""

from __future__ import annotations

from coldfork.source.evaluation.frame import Frame
from coldfork.source.evaluation.interpreter import Interpreter
from coldfork.source.semantics.argument_binding import bind
from coldfork.source.syntax.nodes import Parameters
from coldfork.source.values.kinds import (
    REST,
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
    Values,
)
from coldfork.source.values.unions import union

_MOST_COMBINATIONS = 8


def first_union(positional: Values, keywords: Keywords, combinations: int) -> int | str | None:
    """Return the position or name of the first argument whose alternatives are worth following one by one;
    None if there is none.
    """
    most = _MOST_COMBINATIONS // combinations
    for index, value in enumerate(positional):
        if type(value) is Union and len(value.alternatives) <= most and _tells(value):
            return index
    for name, value in keywords.items():
        if type(value) is Union and name is not None and len(value.alternatives) <= most and _tells(value):
            return name
    return None


def _tells(value: Union) -> bool:
    """Return whether following a call once for each alternative may show more than following it once
    for all.
    """
    return not any(type(single) is Unknown and condition is None for single, condition in value.alternatives)


def unknown_arguments(parameters: Parameters, optional: bool) -> tuple[Values, Keywords]:
    """Return unknown values as arguments: for every parameter, or only for those without a default."""
    left_out = 0 if optional else len(parameters.defaults)
    named = zip(parameters.keyword_only, parameters.keyword_defaults, strict=True)
    return (
        (UNKNOWN,) * (len(parameters.positional) - left_out),
        {name: UNKNOWN for name, default in named if optional or default is None},
    )


def bind_arguments(
    ev: Interpreter,
    inner: Frame,
    function: Function,
    parameters: Parameters,
    positional: Values,
    keywords: Keywords,
) -> None:
    """Return the value of every parameter: its argument, its default, or an unknown value."""
    assert inner.env is not None
    spread = None in keywords
    named = {name: value for name, value in keywords.items() if name is not None}
    star = bool(positional) and positional[-1] is REST
    positional = positional[:-1] if star else positional
    bound = bind(parameters, positional, named, double_star=spread)
    env = inner.env.names
    env.update(bound.given)
    for name in bound.unknown:
        env[name] = UNKNOWN
    for name, default in bound.defaults.items():
        held = ev.quietly(function.module, _defining(function), default)
        env[name] = union([held, UNKNOWN]) if star and name in parameters.positional else held
    if parameters.star is not None:
        env[parameters.star] = Sequence("tuple", bound.more_positional, exact=not star)
    if parameters.double_star is not None:
        words: dict[Value, Value] = {Const(name): value for name, value in bound.more_keywords.items()}
        env[parameters.double_star] = Mapping(words, not spread, doubtful=False)


def _defining(function: Function) -> Env | None:
    """Return the names visible to default values: those of the class body for a method, else those around the
    function.
    """
    if function.owner is not None:
        return ClassEnv(function.owner)
    return function.env
