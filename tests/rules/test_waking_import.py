"""waking-import: an import statement that wakes a device through what it imports."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from inline_snapshot import snapshot

from coldfork.model.effects import WAKING, Effect, EffectKind, ImportOf, Position, Verdict
from coldfork.model.findings import Finding
from coldfork.model.observations import Observation
from coldfork.rules.registry import judge

MakeEffect = Callable[..., Effect]
MakeObservation = Callable[..., Observation]
Say = Callable[[Finding], str]
MakeImport = Callable[..., ImportOf]


def test_names_what_is_imported(
    effect: MakeEffect, observation: MakeObservation, import_of: MakeImport, said: Say
) -> None:
    seen = effect(
        module="trl.models.utils",
        position=Position.IMPORT,
        symbol="deepspeed",
        text="import deepspeed",
        imported=import_of(),
    )
    (finding,) = judge(observation(seen))
    assert said(finding) == snapshot("""\
error[waking-import] importing trl.models.utils wakes cuda by importing deepspeed
in an import statement
every process that imports this module can no longer fork workers that use the GPU
import deepspeed inside the function that uses it\
""")


def test_points_at_the_line_that_is_reported_too(
    effect: MakeEffect, observation: MakeObservation, import_of: MakeImport, said: Say
) -> None:
    imported = import_of(module="vllm.platforms", own=True, woken_elsewhere=True)
    (finding,) = judge(observation(effect(imported=imported)))
    assert said(finding) == snapshot("""\
error[waking-import] importing vllm.v1.attention.backends.flash_attn wakes cuda by
  importing vllm.platforms
in the body of class FlashAttentionMetadataBuilder
every process that imports this module can no longer fork workers that use the GPU
import vllm.platforms inside the function that uses it, or fix the waking line in it,
  which is reported too\
""")


@pytest.mark.parametrize("in_init", [True, False])
def test_a_dependency_imported_by_an_init_is_no_reexport(
    effect: MakeEffect, observation: MakeObservation, import_of: MakeImport, in_init: bool
) -> None:
    seen = effect(imported=import_of(own=False, statement_in_init=in_init))
    assert [finding.rule for finding in judge(observation(seen))] == ["waking-import"]


@pytest.mark.parametrize("kind", sorted(set(EffectKind) - WAKING))
def test_what_wakes_nothing_is_silent(
    effect: MakeEffect, observation: MakeObservation, import_of: MakeImport, kind: EffectKind
) -> None:
    assert judge(observation(effect(kind=kind, imported=import_of()))) == ()


def test_a_condition_is_carried_and_lowers_the_voice(
    effect: MakeEffect, observation: MakeObservation, import_of: MakeImport
) -> None:
    seen = effect(verdict=Verdict.CONDITIONAL, condition="has_nixl_ep()", imported=import_of(gated=True))
    (finding,) = judge(observation(seen))
    assert (finding.condition, finding.severity.value) == ("has_nixl_ep()", "warning")
    assert " can wake cuda by importing" in finding.message
