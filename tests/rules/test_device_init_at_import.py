"""device-init-at-import: a context made by the module's own import-time code."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from inline_snapshot import snapshot

from coldfork.model.effects import Effect, EffectKind, ImportOf, Position, Verdict
from coldfork.model.findings import Finding
from coldfork.model.observations import Observation
from coldfork.rules.registry import judge

MakeEffect = Callable[..., Effect]
MakeObservation = Callable[..., Observation]
Say = Callable[[Finding], str]


def test_says_what_where_why_and_what_to_do(
    effect: MakeEffect, observation: MakeObservation, said: Say
) -> None:
    (finding,) = judge(observation(effect()))
    assert said(finding) == snapshot("""\
error[device-init-at-import] importing vllm.v1.attention.backends.flash_attn wakes cuda
in the body of class FlashAttentionMetadataBuilder
every process that imports this module can no longer fork workers that use the GPU
compute it on first use, in a classmethod or a cached property\
""")


def test_carries_the_effect_over(effect: MakeEffect, observation: MakeObservation) -> None:
    seen = effect(condition="has_ep()", presumed=("a imports",), test=False)
    (finding,) = judge(observation(seen))
    assert (finding.condition, finding.presumed, finding.chain) == ("has_ep()", ("a imports",), seen.chain)
    assert (finding.path, finding.line, finding.column, finding.end_line) == (seen.path, 175, 11, 175)
    assert (finding.module, finding.position, finding.text) == (seen.module, "class-body", seen.text)
    assert (finding.accelerator, finding.effect, finding.confirmed) == ("cuda", "creates-context", None)


@pytest.mark.parametrize(
    ("verdict", "test", "severity", "verb"),
    [
        (Verdict.CERTAIN, False, "error", " wakes cuda"),
        (Verdict.CONDITIONAL, False, "warning", " can wake cuda"),
        (Verdict.POSSIBLE, False, "note", " may wake cuda"),
        (Verdict.CERTAIN, True, "warning", " wakes cuda"),
        (Verdict.CONDITIONAL, True, "note", " can wake cuda"),
        (Verdict.POSSIBLE, True, "note", " may wake cuda"),
    ],
)
def test_is_as_loud_as_it_is_sure(
    effect: MakeEffect, observation: MakeObservation, verdict: Verdict, test: bool, severity: str, verb: str
) -> None:
    (finding,) = judge(observation(effect(verdict=verdict, test=test)))
    assert (finding.severity.value, finding.verdict) == (severity, verdict)
    assert finding.message.endswith(verb)


@pytest.mark.parametrize(
    ("position", "symbol", "words"),
    [
        (Position.MODULE, "vllm.v1.attention.backends.flash_attn", "at module level"),
        (Position.DECORATOR, "kernel", "in a decorator of kernel"),
        (Position.DEFAULT_ARGUMENT, "load", "in a default argument of load"),
        (Position.ANNOTATION, "load", "in an annotation of load"),
        (Position.COMPREHENSION, "", "in a comprehension"),
        (Position.METACLASS, "Registry", "in the metaclass of Registry"),
        (Position.BASE_CLASS, "Kernel", "in a base of class Kernel"),
        (Position.CLASS_BODY, "", "in a class body"),
        (Position.IMPORT, "deepspeed", "in an import statement"),
    ],
)
def test_says_the_position_in_words(
    effect: MakeEffect, observation: MakeObservation, position: Position, symbol: str, words: str
) -> None:
    (finding,) = judge(observation(effect(position=position, symbol=symbol)))
    assert finding.where == words


def test_every_position_has_words_and_a_remedy(effect: MakeEffect, observation: MakeObservation) -> None:
    for position in Position:
        (finding,) = judge(observation(effect(position=position)))
        assert finding.where
        assert finding.remedy


def test_the_knowledge_base_may_know_a_better_remedy(
    effect: MakeEffect, observation: MakeObservation
) -> None:
    seen = observation(effect(remedy="nvml"))
    (finding,) = judge(seen, remedies={"nvml": "ask NVML"})
    assert finding.remedy == "ask NVML"
    (finding,) = judge(seen, remedies={"other": "ask NVML"})
    assert finding.remedy == "compute it on first use, in a classmethod or a cached property"


@pytest.mark.parametrize("accelerator", ["openmp", "polars", "tokenizers", "jax-cpu"])
def test_runtimes_without_a_device_break_otherwise(
    effect: MakeEffect, observation: MakeObservation, accelerator: str
) -> None:
    (finding,) = judge(observation(effect(accelerator=accelerator)))
    assert finding.consequence.endswith("forked workers can hang")


def test_leaves_the_rest_to_other_rules(
    effect: MakeEffect, observation: MakeObservation, import_of: Callable[..., ImportOf]
) -> None:
    others = [effect(kind=kind) for kind in EffectKind if kind is not EffectKind.CREATES_CONTEXT]
    seen = observation(*others, effect(imported=import_of()))
    assert judge(seen, ["device-init-at-import"]) == ()
