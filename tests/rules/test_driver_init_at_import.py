"""driver-init-at-import: the driver is awake, and torch.cuda.is_initialized() does not say so."""

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


def test_says_that_the_flag_stays_false(effect: MakeEffect, observation: MakeObservation, said: Say) -> None:
    seen = effect(kind=EffectKind.INITIALISES_DRIVER, position=Position.DEFAULT_ARGUMENT, symbol="load")
    (finding,) = judge(observation(seen))
    assert said(finding) == snapshot("""\
error[driver-init-at-import] importing vllm.v1.attention.backends.flash_attn wakes cuda:
  it initialises the driver
in a default argument of load
every process that imports this module can no longer fork workers that use the GPU,
  although torch.cuda.is_initialized() stays False
make the default None and ask inside the function\
""")


def test_a_condition_weakens_the_sentence(effect: MakeEffect, observation: MakeObservation) -> None:
    seen = effect(kind=EffectKind.INITIALISES_DRIVER, verdict=Verdict.CONDITIONAL)
    (finding,) = judge(observation(seen))
    assert finding.consequence.startswith("a process in which this happens can no longer fork")


@pytest.mark.parametrize(
    ("accelerator", "ending"),
    [
        ("rocm", "use the GPU, although torch.cuda.is_initialized() stays False"),
        ("xpu", "use the GPU, although torch.xpu.is_initialized() stays False"),
        ("opencl", "use an OpenCL device"),
        ("jax", "use a JAX device"),
    ],
)
def test_names_the_flag_only_where_there_is_one(
    effect: MakeEffect, observation: MakeObservation, accelerator: str, ending: str
) -> None:
    seen = effect(kind=EffectKind.INITIALISES_DRIVER, accelerator=accelerator)
    (finding,) = judge(observation(seen))
    assert finding.consequence.endswith(ending)


def test_leaves_the_rest_to_other_rules(
    effect: MakeEffect, observation: MakeObservation, import_of: Callable[..., ImportOf]
) -> None:
    others = [effect(kind=kind) for kind in EffectKind if kind is not EffectKind.INITIALISES_DRIVER]
    imported = effect(kind=EffectKind.INITIALISES_DRIVER, imported=import_of())
    assert judge(observation(*others, imported), ["driver-init-at-import"]) == ()
