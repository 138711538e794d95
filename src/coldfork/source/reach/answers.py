"""What an analysis answers, and the same as plain data."""

from __future__ import annotations

from typing import Any, NamedTuple

from coldfork.model.captures import CaptureEffect, CaptureKind
from coldfork.model.chains import Chain, Step, StepKind
from coldfork.model.effects import Effect, EffectKind, ImportOf, Verdict
from coldfork.model.observations import IgnoreComment, Unreadable
from coldfork.model.positions import Position


class Answer(NamedTuple):
    """What an analysis found."""

    effects: tuple[Effect, ...]
    unreadable: tuple[Unreadable, ...]
    ignores: tuple[IgnoreComment, ...]
    modules: int
    captured: tuple[CaptureEffect, ...] = ()


def encode_answer(answer: Answer) -> Any:
    """An answer as nested tuples of plain values."""
    return (
        [_effect(effect) for effect in answer.effects],
        [(u.path, u.line, u.column, u.reason, u.own) for u in answer.unreadable],
        [(i.path, i.line, i.column, i.rules, i.reason, i.covers) for i in answer.ignores],
        answer.modules,
        [_captured(effect) for effect in answer.captured],
    )


def _captured(effect: CaptureEffect) -> Any:
    e = effect
    return (
        (str(e.kind), str(e.verdict), e.module, e.path, e.line, e.end_line, e.column, e.text, e.captor),
        _steps(e.chain),
        (e.what, e.earlier, e.condition, e.test),
    )


def _steps(chain: Chain) -> Any:
    return [(str(step.kind), step.symbol, step.path, step.line, step.text) for step in chain.steps]


def _to_captured(data: Any) -> CaptureEffect:
    (kind, verdict, module, path, line, end_line, column, text, captor), steps, rest = data
    return CaptureEffect(
        CaptureKind(kind), Verdict(verdict), module, path, line, end_line, column, text, captor,
        _to_chain(steps), *rest,
    )  # fmt: skip


def _to_chain(steps: Any) -> Chain:
    return Chain(tuple([Step(StepKind(step[0]), *step[1:]) for step in steps]))


def _effect(effect: Effect) -> Any:
    e, imported = effect, effect.imported
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
        )
        if imported is not None
        else None,
        (e.test, e.remedy),
    )


def decode_answer(data: Any) -> Answer:
    """The answer that was encoded."""
    effects, unreadable, ignores, modules, captured = data
    return Answer(
        tuple([_to_effect(effect) for effect in effects]),
        tuple([Unreadable(*each) for each in unreadable]),
        tuple([IgnoreComment(*each) for each in ignores]),
        modules,
        tuple([_to_captured(effect) for effect in captured]),
    )


def _to_effect(data: Any) -> Effect:
    (kind, accelerator, verdict, module, path, line, end_line, column, text), position, steps, *rest = data
    (condition, presumed), imported, (test, remedy) = rest
    return Effect(
        EffectKind(kind), accelerator, Verdict(verdict), module, path, line, end_line, column, text,
        Position(position),
        _to_chain(steps),
        condition, presumed,
        ImportOf(*imported) if imported is not None else None,
        test, remedy,
    )  # fmt: skip
