"""device-query-at-import: a question whose cheap answer can fail."""

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


@pytest.fixture
def query(effect: MakeEffect) -> MakeEffect:
    def make(**changes: object) -> Effect:
        fields = {
            "kind": EffectKind.QUERIES_DEVICE,
            "position": Position.MODULE,
            "symbol": "",
            "module": "engine",
        }
        return effect(**{**fields, **changes})

    return make


def test_says_on_which_host_it_wakes(query: MakeEffect, observation: MakeObservation, said: Say) -> None:
    (finding,) = judge(observation(query()))
    assert said(finding) == snapshot("""\
warning[device-query-at-import] importing engine asks for cuda devices
at module level
on a host where NVML does not answer, this wakes the driver, and forked workers can no
  longer use the GPU
compute it on first use, in a function behind functools.cache\
""")


def test_is_never_certain(query: MakeEffect, observation: MakeObservation) -> None:
    (finding,) = judge(observation(query(verdict=Verdict.CERTAIN)))
    assert (finding.verdict, finding.severity.value) == (Verdict.CONDITIONAL, "warning")
    (finding,) = judge(observation(query(verdict=Verdict.POSSIBLE)))
    assert (finding.verdict, finding.severity.value) == (Verdict.POSSIBLE, "note")


@pytest.mark.parametrize(
    ("accelerator", "condition", "said"),
    [
        ("cuda", None, "a host where NVML does not answer"),
        ("cuda", "a host where NVML does not answer", "a host where NVML does not answer"),
        ("cuda", "EAGER", "EAGER and a host where NVML does not answer"),
        ("rocm", None, "a host where amdsmi does not answer"),
        ("xpu", None, "a host where only the driver can answer"),
    ],
)
def test_the_condition_names_the_host(
    query: MakeEffect, observation: MakeObservation, accelerator: str, condition: str | None, said: str
) -> None:
    (finding,) = judge(observation(query(accelerator=accelerator, condition=condition)))
    assert finding.condition == said


def test_a_query_through_an_import_is_silent(
    query: MakeEffect, observation: MakeObservation, import_of: Callable[..., ImportOf]
) -> None:
    imports = [import_of(), import_of(own=True, statement_in_init=True)]
    assert judge(observation(*(query(imported=imported) for imported in imports))) == ()
