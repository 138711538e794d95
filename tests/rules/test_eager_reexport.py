"""eager-reexport: a package's `__init__` that pulls in a waking module of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from inline_snapshot import snapshot

from coldfork.model.effects import WAKING, Effect, EffectKind, ImportOf, Position
from coldfork.model.findings import Finding
from coldfork.model.observations import Observation
from coldfork.rules.registry import judge

MakeEffect = Callable[..., Effect]
MakeObservation = Callable[..., Observation]
Say = Callable[[Finding], str]
MakeImport = Callable[..., ImportOf]

OPS = "vllm.models.deepseek_v4.nvidia.ops"
LEAF = f"{OPS}.dequant_gather_k_cutedsl"


def reexport(import_of: MakeImport, importers: int = 7, **changes: object) -> ImportOf:
    return import_of(module=LEAF, own=True, statement_in_init=True, importers=importers, **changes)


def test_says_who_pulls_in_what_and_for_whom(
    effect: MakeEffect, observation: MakeObservation, import_of: MakeImport, said: Say
) -> None:
    seen = effect(
        kind=EffectKind.INITIALISES_DRIVER,
        module=OPS,
        position=Position.IMPORT,
        sink="cuda.bindings.driver.cuInit",
        imported=reexport(import_of),
    )
    (finding,) = judge(observation(seen))
    assert said(finding) == snapshot("""\
error[eager-reexport] importing vllm.models.deepseek_v4.nvidia.ops wakes cuda: its
  __init__ imports vllm.models.deepseek_v4.nvidia.ops.dequant_gather_k_cutedsl; 7 modules
  import this package
in an import statement
every process that imports this module can no longer fork workers that use the GPU,
  although torch.cuda.is_initialized() stays False
empty this __init__ or make it lazy with a module __getattr__ (PEP 562), and import
  vllm.models.deepseek_v4.nvidia.ops.dequant_gather_k_cutedsl where it is used\
""")


@pytest.mark.parametrize(
    ("importers", "words"),
    [
        (0, "no checked module imports this package"),
        (1, "1 module imports this package"),
        (2, "2 modules import this package"),
    ],
)
def test_counts_the_importers(
    effect: MakeEffect, observation: MakeObservation, import_of: MakeImport, importers: int, words: str
) -> None:
    (finding,) = judge(observation(effect(imported=reexport(import_of, importers))))
    assert finding.message.endswith(f"; {words}")


def test_a_lazy_import_is_the_first_remedy_where_the_target_version_knows_it(
    effect: MakeEffect, observation: MakeObservation, import_of: MakeImport
) -> None:
    (lazily,) = judge(observation(effect(imported=reexport(import_of, may_be_lazy=True))))
    (finding,) = judge(observation(effect(imported=reexport(import_of))))
    assert lazily.remedy == (
        "make the import lazy (with __lazy_modules__ where Pythons before 3.15 are supported too), "
        f"or {finding.remedy}"
    )
    assert lazily.id == finding.id


def test_its_id_does_not_hang_on_the_number_of_importers(
    effect: MakeEffect, observation: MakeObservation, import_of: MakeImport
) -> None:
    ids = {judge(observation(effect(imported=reexport(import_of, count))))[0].id for count in (1, 2, 30)}
    assert len(ids) == 1


@pytest.mark.parametrize("kind", sorted(set(EffectKind) - WAKING))
def test_what_wakes_nothing_is_silent(
    effect: MakeEffect, observation: MakeObservation, import_of: MakeImport, kind: EffectKind
) -> None:
    assert judge(observation(effect(kind=kind, imported=reexport(import_of)))) == ()


def test_an_ordinary_module_reexports_nothing(
    effect: MakeEffect, observation: MakeObservation, import_of: MakeImport
) -> None:
    imported = import_of(module=LEAF, own=True, statement_in_init=False)
    assert judge(observation(effect(imported=imported)), ["eager-reexport"]) == ()
