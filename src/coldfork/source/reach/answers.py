"""The answer of an analysis, and its conversion to plain values, in which it is cached."""

from __future__ import annotations

from typing import Any, NamedTuple

from coldfork.model.causes import Audience, CheckedModule, Import
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
from coldfork.model.observations import IgnoreComment, Unfinished, Unreadable


class Answer(NamedTuple):
    """The result of an analysis."""

    effects: tuple[Effect, ...]
    unreadable: tuple[Unreadable, ...]
    ignores: tuple[IgnoreComment, ...]
    modules: int
    absent: tuple[str, ...] = ()
    """Packages that the checked code imports unconditionally, and that were not found."""
    affected: tuple[str, ...] | None = None
    """The paths of the checked modules that the changes can affect; None if that was not asked."""
    checked: tuple[CheckedModule, ...] = ()
    imports: tuple[Import, ...] = ()
    unset: tuple[tuple[str, str], ...] = ()
    """Packages, with the environment variables without which some of their imports were not followed."""
    unfinished: tuple[Unfinished, ...] = ()
    leading: tuple[str, ...] = ()
    """The checked modules whose import can lead to the import of a requested package."""
    unfollowed: int = 0
    """The number of lines in the checked code that call, during import, code that cannot be followed."""


def encode_answer(answer: Answer) -> Any:
    """Return an answer as nested tuples of plain values."""
    return (
        [_effect(effect) for effect in answer.effects],
        [_plain(one) for one in answer.unreadable],
        [_plain(one) for one in answer.ignores],
        answer.modules,
        answer.absent,
        answer.affected,
        [(m.name, m.path, str(m.audience), m.imported, m.file) for m in answer.checked],
        [tuple(one) for one in answer.imports],
        answer.unset,
        [_plain(one) for one in answer.unfinished],
        answer.leading,
        answer.unfollowed,
    )


def _plain(one: Any) -> Any:
    """Return the fields of an object that contains only plain values."""
    return tuple([getattr(one, field) for field in one.__slots__])


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
        None if imported is None else _plain(imported),
        (e.test, e.remedy, e.turn, _ahead(e.ahead)),
        None if start is None else _process_start(start),
    )


def _process_start(start: ProcessStart) -> Any:
    met = start.hindrance
    return (
        (start.method, start.chosen, start.target, start.arrival.value, _plain(start.origin)),
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
    """Return the answer from the tuples made by `encode_answer`."""
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
