"""The loader's answer for each kind of entry, on each kind of machine."""

from __future__ import annotations

from typing import Any

import pytest

from coldfork.knowledge.catalogue import Catalogue, Fact, ValueKind, built_in, load
from coldfork.knowledge.facts import ArgumentTest
from coldfork.knowledge.known import known
from coldfork.knowledge.selection import Selection
from coldfork.knowledge.stamp import VERSIONED
from coldfork.model.effects import PROFILES, EffectKind
from coldfork.model.errors import KnowledgeError

WAKE: dict[str, Any] = {
    "calls": ["acme.wake"],
    "does": "initialises-driver",
    "accelerator": ["cuda", "rocm"],
    "distribution": "acme",
    "source": "acme.py",
    "remedy": "wait",
}


def catalogue(profile: str = "cuda", version: str | None = None, **kinds: list[dict[str, Any]]) -> Catalogue:
    """A catalogue with a few entries of a library called acme added."""
    return load(PROFILES[profile], {"acme": version} if version else {}, kinds)


def only(facts: tuple[Fact, ...]) -> Fact:
    """The one fact there is."""
    (fact,) = facts
    return fact


def test_a_call_is_found_by_its_name() -> None:
    fact = only(catalogue(effect=[WAKE]).call("acme.wake"))
    assert fact == Fact(
        "acme.wake", EffectKind.INITIALISES_DRIVER, "cuda", "acme", source="acme.py", remedy="wait"
    )
    assert catalogue(effect=[WAKE]).call("acme.wake.more") == ()


@pytest.mark.parametrize(
    ("profile", "accelerator"),
    [
        ("cuda", "cuda"),
        ("cuda-without-nvml", "cuda"),
        ("jax-gpu", "cuda"),
        ("rocm", "rocm"),
        ("xpu", None),
        ("cpu", None),
    ],
)
def test_the_same_fact_serves_every_machine_it_names(profile: str, accelerator: str | None) -> None:
    facts = catalogue(profile, effect=[WAKE]).call("acme.wake")
    assert [fact.accelerator for fact in facts] == ([accelerator] if accelerator else [])


def test_under_names_the_machines_when_the_accelerator_is_no_part_of_a_profile() -> None:
    entry = WAKE | {"accelerator": "opencl", "under": ["cuda", "xpu"]}
    found = {name: catalogue(name, effect=[entry]).call("acme.wake") for name in PROFILES}
    assert {name for name, facts in found.items() if facts} == {"cuda", "cuda-without-nvml", "jax-gpu", "xpu"}
    assert only(found["xpu"]).accelerator == "opencl"


def test_what_an_effect_presumes_is_kept() -> None:
    fact = only(catalogue(effect=[WAKE | {"presumes": "acme's daemon runs"}]).call("acme.wake"))
    assert fact.presumes == "acme's daemon runs"
    assert only(catalogue(effect=[WAKE]).call("acme.wake")).presumes == ""


@pytest.mark.parametrize(
    ("profile", "does", "condition"),
    [
        ("cuda", EffectKind.QUERIES_DEVICE, "a host where NVML does not answer"),
        ("cuda-without-nvml", EffectKind.INITIALISES_DRIVER, None),
        ("rocm", EffectKind.QUERIES_DEVICE, "a host where amdsmi does not answer"),
    ],
)
def test_only_if_turns_the_effect_into_a_question_where_management_answers(
    profile: str, does: EffectKind, condition: str | None
) -> None:
    entry = WAKE | {"only_if": ["nvml-fails", "amdsmi-fails"]}
    fact = only(catalogue(profile, effect=[entry]).call("acme.wake"))
    assert (fact.does, fact.condition) == (does, condition)


@pytest.mark.parametrize(
    ("profile", "does", "condition"),
    [
        ("cuda", EffectKind.INITIALISES_DRIVER, "nobody asked before"),
        ("rocm", EffectKind.QUERIES_DEVICE, "a host where amdsmi does not answer"),
    ],
)
def test_what_happens_despite_the_variable_happens_under_a_condition(
    profile: str, does: EffectKind, condition: str
) -> None:
    entry = WAKE | {"unless_env": {"ASK_NVML": "1"}, "despite": "nobody asked before"}
    fact = only(catalogue(profile, effect=[entry]).call("acme.wake"))
    assert (fact.condition, fact.unless_env) == (None, ("ASK_NVML", "1"))
    assert (fact.softened().does, fact.softened().condition) == (does, condition)


def test_nvml_says_nothing_about_rocm() -> None:
    entry = WAKE | {"only_if": "nvml-fails"}
    assert only(catalogue("rocm", effect=[entry]).call("acme.wake")).does is EffectKind.INITIALISES_DRIVER


@pytest.mark.parametrize(
    ("profile", "kept"), [("cuda", True), ("jax-gpu", True), ("rocm", True), ("cuda-without-nvml", False)]
)
def test_an_environment_variable_helps_only_where_management_answers(profile: str, kept: bool) -> None:
    fact = only(catalogue(profile, effect=[WAKE | {"unless_env": {"ACME_COLD": "1"}}]).call("acme.wake"))
    assert fact.unless_env == (("ACME_COLD", "1") if kept else None)


def test_a_softened_fact_asks_instead_of_waking() -> None:
    fact = only(catalogue(effect=[WAKE | {"unless_env": {"ACME_COLD": "1"}}]).call("acme.wake"))
    soft = fact.softened()
    assert (soft.does, soft.condition, soft.unless_env) == (
        EffectKind.QUERIES_DEVICE,
        "a host where NVML does not answer",
        None,
    )
    assert soft.softened() is soft


def test_a_wildcard_covers_one_level_and_spares_its_exceptions() -> None:
    entry = WAKE | {"calls": ["acme.make.*"], "except": ["dtype"]}
    found = catalogue(effect=[entry])
    assert only(found.call("acme.make.zeros")).symbol == "acme.make.zeros"
    assert found.call("acme.make.dtype") == ()
    assert found.call("acme.make.deep.zeros") == ()
    assert found.call("acme.make") == ()


def test_an_exact_entry_wins_over_a_wildcard() -> None:
    wild = WAKE | {"calls": ["acme.make.*"]}
    exact = WAKE | {"calls": ["acme.make.zeros"], "does": "creates-context"}
    fact = only(catalogue(effect=[wild, exact]).call("acme.make.zeros"))
    assert fact.does is EffectKind.CREATES_CONTEXT


def test_attributes_and_imports_are_looked_up_apart_from_calls() -> None:
    base = {key: value for key, value in WAKE.items() if key != "calls"}
    found = catalogue(
        effect=[
            base | {"attributes": ["acme.state.active", "acme.lazy.*"]},
            base | {"imports": ["acme.auto"]},
        ]
    )
    assert only(found.attribute("acme.state.active")).symbol == "acme.state.active"
    assert only(found.attribute("acme.lazy.target")).symbol == "acme.lazy.target"
    assert only(found.imports["acme.auto"]).does is EffectKind.INITIALISES_DRIVER
    assert found.call("acme.state.active") == ()


def test_a_method_is_keyed_by_its_name_and_knows_its_receivers() -> None:
    entry = {key: value for key, value in WAKE.items() if key != "calls"}
    found = catalogue(
        effect=[entry | {"methods": ["start"], "receivers": ["acme.Engine", "acme.core.Engine"]}]
    )
    (method,) = found.methods["start"]
    assert method.receivers == ("acme.Engine", "acme.core.Engine")
    assert method.fact.symbol == "acme.Engine.start"


def test_an_argument_test_reads_the_accelerators_own_word() -> None:
    argument = {
        "name": "device",
        "position": 1,
        "startswith": {"cuda": ["cuda"], "xpu": "xpu"},
        "integers": True,
    }
    entry = WAKE | {"accelerator": ["cuda", "xpu", "rocm"], "argument": argument}
    assert only(catalogue("xpu", effect=[entry]).call("acme.wake")).argument == ArgumentTest(
        "device", 1, ("xpu",), True
    )
    assert catalogue("rocm", effect=[entry]).call("acme.wake") == ()


@pytest.mark.parametrize(
    ("test", "accepted", "refused"),
    [
        (ArgumentTest("device", startswith=("cuda",)), ["cuda", "cuda:1"], ["cpu", 0, None, True]),
        (ArgumentTest("device", startswith=("cuda",), integers=True), ["cuda", 0, 3], ["cpu", None, True]),
        (ArgumentTest("device"), ["cuda", 0, True], [None]),
        (ArgumentTest("enabled", equals=(False,)), [False], [True, 0, None, "False"]),
        (ArgumentTest("count", equals=(0,)), [0], [False, 1]),
        (ArgumentTest("source", endswith=(".cu", ".cuh")), ["a.cu", "b.cuh"], ["a.cpp", ".cu.cpp", 0, None]),
    ],
)
def test_an_argument_test_accepts_constants(
    test: ArgumentTest, accepted: list[object], refused: list[object]
) -> None:
    assert [value for value in accepted if not test.accepts(value)] == []
    assert [value for value in refused if test.accepts(value)] == []


def test_an_argument_test_with_a_dot_names_objects() -> None:
    test = ArgumentTest("arch", startswith=("acme.gpu", "gpu"))
    assert test.names("acme.gpu")
    assert test.names("acme.gpu()")
    assert not test.names("gpu.acme")


def test_what_a_call_returns_may_wake_when_it_is_called_in_its_turn() -> None:
    found = catalogue(effect=[WAKE | {"calls": ["acme.decorate()"]}])
    assert only(found.call("acme.decorate()")).symbol == "acme.decorate()"
    assert found.call("acme.decorate") == ()


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("1.9", True),
        ("2.0", False),
        ("2.0.0", False),
        ("2.0a1", False),
        ("3", False),
        (None, False),
        ("nonsense", False),
    ],
)
def test_the_version_installed_decides_and_an_unknown_one_is_the_newest(
    version: str | None, found: bool
) -> None:
    assert bool(catalogue(version=version, effect=[WAKE | {"versions": "<2.0"}]).call("acme.wake")) is found


def test_a_value_takes_the_first_case_that_fits_the_machine() -> None:
    told = {"names": ["acme.flag"], "is": {"otherwise": "none", "rocm": "set"}}
    assert catalogue("rocm", value=[told]).values["acme.flag"].kind is ValueKind.SET
    assert catalogue("rocm", value=[told]).values["acme.flag"].truth is True
    flag = catalogue("cuda", value=[told]).values["acme.flag"]
    assert (flag.is_none, flag.truth, flag.constant) == (True, False, None)


def test_a_value_that_no_case_fits_stays_unknown() -> None:
    assert (
        "acme.flag" not in catalogue("cuda", value=[{"names": ["acme.flag"], "is": {"rocm": "true"}}]).values
    )


@pytest.mark.parametrize(
    ("told", "truth", "constant"),
    [
        ({"is": "true"}, True, True),
        ({"is": "false"}, False, False),
        ({"equals": 0}, False, 0),
        ({"equals": "linux"}, True, "linux"),
    ],
)
def test_values_are_constants_with_a_truth(told: dict[str, Any], truth: bool, constant: object) -> None:
    value = catalogue(value=[{"names": ["acme.flag()"]} | told]).values["acme.flag()"]
    assert (value.truth, value.constant, value.is_none) == (truth, constant, False)


@pytest.mark.parametrize(("profile", "fails"), [("cuda", False), ("cuda-without-nvml", True), ("rocm", True)])
def test_a_call_that_needs_nvml_raises_where_there_is_none(profile: str, fails: bool) -> None:
    entry = {"calls": ["acme.nvml_init"], "needs": "nvml", "presumes": "NVML works"}
    raises = catalogue(profile, raises=[entry]).raises["acme.nvml_init"]
    assert (raises.fails, raises.presumes) == (fails, "NVML works")


def test_harmless_is_a_prefix_that_a_fact_overrides() -> None:
    found = catalogue(
        effect=[WAKE | {"calls": ["acme.safe.not_quite"]}], harmless=[{"prefixes": ["acme.safe"]}]
    )
    assert found.is_harmless("acme.safe")
    assert found.is_harmless("acme.safe.deep.inside")
    assert not found.is_harmless("acme.safely")
    assert not found.is_harmless("acme.safe.not_quite")


def test_returns_knows_names_and_wildcards() -> None:
    found = catalogue(
        returns=[
            {"calls": ["acme.nn.*"], "except": ["Parameter"], "type": "acme.Module"},
            {"calls": ["acme.nn.Parameter"], "type": "acme.Tensor"},
        ]
    )
    assert found.returned("acme.nn.Linear") == "acme.Module"
    assert found.returned("acme.nn.Parameter") == "acme.Tensor"
    assert found.returned("acme.nn.deep.Linear") is None


def test_a_remedy_is_one_line() -> None:
    found = catalogue(remedy=[{"id": "wait", "text": "Wait\n  for it."}])
    assert found.remedies["wait"] == "Wait for it."


def test_the_digest_follows_everything_the_answers_depend_on() -> None:
    digests = [
        known(PROFILES["cuda"], {}).digest,
        known(PROFILES["rocm"], {}).digest,
        known(PROFILES["cuda"], {}, {"effect": [WAKE]}).digest,
        known(PROFILES["cuda"], {"acme": "4.5"}, {"effect": [WAKE]}).digest,
        known(PROFILES["cuda"], {"torch": "2.8.0"}).digest,
        known(PROFILES["cuda"], {"torch": "1.12.0"}).digest,
        known(PROFILES["cuda"], {}, required={"torch": (">=2",)}).digest,
        known(PROFILES["cuda"], {"nvidia-cutlass-dsl": "4.6.0"}).digest,
    ]
    assert len(set(digests)) == len(digests)
    assert known(PROFILES["cuda"], {}).digest == digests[0]
    assert known(PROFILES["cuda"], {"requests": "2.0"}).digest == digests[0]


def test_the_digest_counts_every_version_that_a_built_in_entry_asks_for() -> None:
    selection = Selection(PROFILES["cuda"], {}, {})
    selection.add(built_in())
    assert set(selection.asked) <= {names[0] for names in VERSIONED}


def test_a_catalogue_is_loaded_when_it_is_asked_for_and_refused_at_once() -> None:
    unread = known(PROFILES["cuda"], {})
    assert "catalogue" not in vars(unread)
    assert unread.catalogue == load(PROFILES["cuda"], {})
    with pytest.raises(KnowledgeError):
        known(PROFILES["cuda"], {}, {"effect": [{"call": 1}]})
