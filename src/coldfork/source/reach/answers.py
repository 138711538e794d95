"""Whole answers, remembered: what was told last time is told again while nothing at all has changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from coldfork.model.captures import CaptureEffect, CaptureKind
from coldfork.model.chains import Chain, Step, StepKind
from coldfork.model.effects import Effect, EffectKind, ImportOf, Verdict
from coldfork.model.observations import IgnoreComment, Unreadable
from coldfork.model.positions import Position
from coldfork.source.files.packs import load_pack, save_pack

#: Runs over the same sources with other entries have answers of their own; more than these are forgotten.
_MOST_ANSWERS = 16


class Answer(NamedTuple):
    """What an analysis tells."""

    effects: tuple[Effect, ...]
    unreadable: tuple[Unreadable, ...]
    ignores: tuple[IgnoreComment, ...]
    modules: int
    captured: tuple[CaptureEffect, ...] = ()


class Answers:
    """The answers that rest on one pack of results."""

    def __init__(self, pack: Path | None, key: str) -> None:
        self._pack = pack
        self._key = key

    def recall(self, token: str | None) -> Answer | None:
        """The answer given before, if the results it rests on are those that `token` names."""
        if token is None:
            return None
        kept = self._kept(token).get(self._key)
        return _decoded(kept) if kept is not None else None

    def keep(self, token: str | None, answer: Answer) -> None:
        """Remember an answer that rests on the results that `token` names."""
        if self._pack is None or token is None:
            return
        others = [(key, kept) for key, kept in self._kept(token).items() if key != self._key]
        kept = dict([*others[1 - _MOST_ANSWERS :], (self._key, _encoded(answer))])
        save_pack(self._pack, {"token": token, "answers": kept})

    def _kept(self, token: str) -> dict[str, Any]:
        loaded = load_pack(self._pack) if self._pack is not None else None
        if not isinstance(loaded, dict) or loaded.get("token") != token:
            return {}
        answers: dict[str, Any] = loaded["answers"]
        return answers


def _encoded(answer: Answer) -> Any:
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


def _decoded(data: Any) -> Answer:
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
