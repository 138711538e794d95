"""Converts the effects of an answer to plain values and back."""

from __future__ import annotations

from typing import Any

from coldfork.model.effects import (
    Ahead,
    Arrival,
    Chain,
    Effect,
    EffectKind,
    Hindrance,
    ImportOf,
    Obstacle,
    Position,
    ProcessStart,
    StartedProgram,
    Step,
    StepKind,
    Verdict,
)
from coldfork.source.files.packs import fields_of


def _steps(chain: Chain) -> Any:
    return [(str(step.kind), step.symbol, step.path, step.line, step.text) for step in chain.steps]


def _to_chain(steps: Any) -> Chain:
    return Chain(tuple([Step(StepKind(step[0]), *step[1:]) for step in steps]))


def plain_effect(effect: Effect) -> Any:
    """Return an effect as nested tuples of plain values."""
    e, imported, start = effect, effect.imported, effect.start
    return (
        (str(e.kind), e.accelerator, str(e.verdict), e.module, e.path, e.line, e.end_line, e.column, e.text),
        str(e.position),
        _steps(e.chain),
        (e.condition, e.presumed),
        None if imported is None else fields_of(imported),
        (e.test, e.remedy, e.turn, _ahead(e.ahead)),
        None if start is None else _process_start(start),
    )


def _process_start(start: ProcessStart) -> Any:
    met = start.hindrance
    return (
        (start.method, start.chosen, start.target, start.arrival.value, fields_of(start.origin)),
        (start.tasks, start.handled, start.differs, start.unguarded),
        start.sure,
        None if met is None else (met.obstacle.value, met.words, _steps(met.chain)),
        _steps(start.way),
        _ahead(start.before),
        _ahead(start.child),
    )


def _ahead(ahead: Ahead | None) -> Any:
    return None if ahead is None else (str(ahead.kind), _steps(ahead.chain))


def _to_ahead(data: Any) -> Ahead | None:
    return None if data is None else Ahead(EffectKind(data[0]), _to_chain(data[1]))


def _to_process_start(data: Any) -> ProcessStart | None:
    if data is None:
        return None
    (method, chosen, target, arrival, origin), rest, sure, met, way, before, child = data
    return ProcessStart(
        method, chosen, target, Arrival(arrival), StartedProgram(*origin),
        _to_chain(way),
        _to_ahead(before),
        _to_ahead(child),
        sure,
        None if met is None else Hindrance(Obstacle(met[0]), met[1], _to_chain(met[2])),
        *rest,
    )  # fmt: skip


def to_effect(data: Any) -> Effect:
    """Return the effect from the tuples made by `plain_effect`."""
    (kind, accelerator, verdict, module, path, line, end_line, column, text), position, steps, *rest = data
    (condition, presumed), imported, (test, remedy, turn, ahead), start = rest
    return Effect(
        EffectKind(kind), accelerator, Verdict(verdict), module, path, line, end_line, column, text,
        Position(position),
        _to_chain(steps),
        condition, presumed,
        ImportOf(*imported) if imported is not None else None,
        test, remedy, turn,
        _to_ahead(ahead),
        _to_process_start(start),
    )  # fmt: skip
