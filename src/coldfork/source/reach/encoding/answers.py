"""The answer of an analysis as plain data, which marshal takes, and back."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any, NamedTuple

from coldfork.model.causes import Audience, CheckedModule, Import
from coldfork.model.chains import Chain, Step, StepKind
from coldfork.model.effects import (
    Ahead,
    Arrival,
    Effect,
    EffectKind,
    Hindrance,
    ImportOf,
    Obstacle,
    ProcessStart,
    StartedProgram,
    Verdict,
)
from coldfork.model.observations import IgnoreComment, Unfinished, Unreadable
from coldfork.model.positions import Position


class Answer(NamedTuple):
    """What an analysis found."""

    effects: tuple[Effect, ...]
    unreadable: tuple[Unreadable, ...]
    ignores: tuple[IgnoreComment, ...]
    modules: int
    absent: tuple[str, ...] = ()
    """Packages that the checked code imports, come what may, and that were not found."""
    affected: tuple[str, ...] | None = None
    """The paths of the checked modules that what changed can affect; None when nobody asked."""
    checked: tuple[CheckedModule, ...] = ()
    imports: tuple[Import, ...] = ()
    unset: tuple[tuple[str, str], ...] = ()
    """Packages, and environment variables without which some of what they import was left alone."""
    unfinished: tuple[Unfinished, ...] = ()
    leading: tuple[str, ...] = ()
    """The checked modules whose import can lead to that of a package which was asked about."""
    unfollowed: int = 0
    """How many lines of the checked code call something unknown while it is imported."""


def encode_answer(answer: Answer) -> Any:
    """An answer as nested tuples of plain values."""
    return (
        [_effect(effect) for effect in answer.effects],
        [astuple(u) for u in answer.unreadable],
        [(i.path, i.line, i.column, i.rules, i.reason, i.covers) for i in answer.ignores],
        answer.modules,
        answer.absent,
        answer.affected,
        [(m.name, m.path, str(m.audience), m.imported, m.file) for m in answer.checked],
        [tuple(one) for one in answer.imports],
        answer.unset,
        [(u.module, u.function, u.path, u.line, u.what, u.own, u.fault) for u in answer.unfinished],
        answer.leading,
        answer.unfollowed,
    )


def _steps(chain: Chain) -> Any:
    return [(str(step.kind), step.symbol, step.path, step.line, step.text) for step in chain.steps]


def _to_chain(steps: Any) -> Chain:
    return Chain(tuple([Step(StepKind(step[0]), *step[1:]) for step in steps]))


def _effect(effect: Effect) -> Any:
    e, imported, start = effect, effect.imported, effect.start
    return (
        (str(e.kind), e.accelerator, str(e.verdict), e.module, e.path, e.line, e.end_line, e.column, e.text),
        str(e.position),
        _steps(e.chain),
        (e.condition, e.presumed),
        (
            imported.module,
            imported.own,
            imported.statement_in_init,
            imported.importers,
            imported.gated,
            imported.woken_elsewhere,
            imported.may_be_lazy,
        )
        if imported is not None
        else None,
        (e.test, e.remedy, e.turn, _ahead(e.ahead)),
        None if start is None else _process_start(start),
    )


def _process_start(start: ProcessStart) -> Any:
    met = start.hindrance
    return (
        (start.method, start.chosen, start.target, start.arrival.value, astuple(start.origin)),
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


def decode_answer(data: Any) -> Answer:
    """The answer that was encoded."""
    effects, unreadable, ignores, modules, absent, affected, checked, imports, unset, *rest = data
    unfinished, leading, unfollowed = rest
    return Answer(
        tuple([_to_effect(effect) for effect in effects]),
        tuple([Unreadable(*each) for each in unreadable]),
        tuple([IgnoreComment(*each) for each in ignores]),
        modules,
        absent,
        affected,
        tuple([
            CheckedModule(name, path, Audience(audience), is_imported, file)
            for name, path, audience, is_imported, file in checked
        ]),
        tuple([Import(*one) for one in imports]),
        unset,
        tuple([Unfinished(*each) for each in unfinished]),
        leading,
        unfollowed,
    )  # fmt: skip


def _to_effect(data: Any) -> Effect:
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
