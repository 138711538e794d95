"""Every entry answers as expected through the loader, and every entry is spoken of by an expectation."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from coldfork.knowledge.catalogue import Catalogue, Fact, ValueKind, built_in, load
from coldfork.knowledge.entries import EffectEntry
from coldfork.model.effects import PROFILES, EffectKind

pytestmark = pytest.mark.once


def _expectations() -> ModuleType:
    path = Path(__file__).with_name("expectations.py")
    spec = importlib.util.spec_from_file_location("knowledge_expectations", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


EXPECTED = _expectations()
LIBRARY = built_in()
KINDS = {
    EffectKind.CREATES_CONTEXT: "context",
    EffectKind.INITIALISES_DRIVER: "driver",
    EffectKind.QUERIES_DEVICE: "asks",
}


def _rows() -> Iterator[tuple[str, str, str, str]]:
    """Profile, version, outcome and symbol of every expected effect."""
    for line in EXPECTED.EFFECTS.strip().splitlines():
        head, _, symbols = line.partition(": ")
        profile, *version, outcome = _split(head)
        for symbol in _symbols(symbols):
            yield profile, "".join(version), outcome, symbol


def _split(head: str) -> list[str]:
    """`cuda torch==2.8.0 driver+if device` in its two or three parts."""
    words = head.split(" ")
    cut = 2 if len(words) > 1 and "==" in words[1] else 1
    return [*words[:cut], " ".join(words[cut:])]


def _symbols(text: str) -> list[str]:
    """The symbols of a line; `import` and `read` belong to the word that follows."""
    words = text.split()
    found = []
    while words:
        word = words.pop(0)
        found.append(f"{word} {words.pop(0)}" if word in ("import", "read") else word)
    return found


def _facts(catalogue: Catalogue, symbol: str) -> tuple[Fact, ...]:
    """Return the catalogue's facts about a symbol, as an expectation writes it."""
    if symbol.startswith("import "):
        return catalogue.imports.get(symbol.removeprefix("import "), ())
    if symbol.startswith("read "):
        return catalogue.attribute(symbol.removeprefix("read "))
    receiver, at, method = symbol.partition("@")
    if at:
        return tuple(item.fact for item in catalogue.methods.get(method, ()) if receiver in item.receivers)
    return catalogue.call(symbol) or catalogue.helpers.get(symbol, ())


def _outcome(fact: Fact) -> str:
    """A fact as an expectation writes it."""
    words = KINDS[fact.does]
    if fact.unless_env:
        words += "+env"
    if fact.unless_argument:
        words += "".join(f"+unless {test.name}" for test in fact.unless_argument)
    if fact.argument:
        words += f"+if {fact.argument.name}"
    return words


def _found(profile: str, version: str) -> Catalogue:
    """The catalogue for a machine, and for one version of a distribution if a row names one."""
    distribution, _, number = version.partition("==")
    return load(PROFILES[profile], {distribution: number} if version else {})


def test_every_symbol_does_what_is_expected_of_it() -> None:
    wrong = {}
    for row in _rows():
        profile, version, outcome, symbol = row
        outcomes = sorted({_outcome(fact) for fact in _facts(_found(profile, version), symbol)})
        if outcomes != ([] if outcome == "cold" else sorted(outcome.split(" or "))):
            wrong[row] = outcomes
    assert wrong == {}


@pytest.mark.parametrize("line", EXPECTED.VALUES.strip().splitlines())
def test_a_value_is_what_is_expected_of_it(line: str) -> None:
    head, _, expected = line.partition(": ")
    profile, name = head.split(" ")
    value = load(PROFILES[profile], {}).values.get(name)
    if expected == "?":
        assert value is None
    elif expected == "set":
        assert value is not None
        assert value.kind is ValueKind.SET
    else:
        assert value is not None
        assert value.kind is not ValueKind.SET
        assert repr(value.constant) == expected


def _names(entry: EffectEntry) -> list[str]:
    """The symbols of an effect as expectations write them."""
    match entry.how:
        case "import":
            return [f"import {name}" for name in entry.names]
        case "attribute":
            return [f"read {name}" for name in entry.names]
        case "method":
            return [f"{receiver}@{name}" for name in entry.names for receiver in entry.receivers]
        case _:
            return list(entry.names)


def test_every_effect_is_expected_by_a_row_that_selects_it() -> None:
    """The row must choose the machine and the version at which this very entry speaks."""
    rows = [
        (symbol, {fact.source for fact in _facts(_found(profile, version), symbol)})
        for profile, version, outcome, symbol in _rows()
        if outcome != "cold"
    ]
    for entry in LIBRARY.effects:
        spoken = {source for symbol, sources in rows if _covers(entry, symbol) for source in sources}
        assert entry.source in spoken, f"{entry.names[0]} {entry.versions}"


def _covers(entry: EffectEntry, symbol: str) -> bool:
    return any(
        symbol == name or (name.endswith(".*") and symbol.rpartition(".")[0] == name[:-2])
        for name in _names(entry)
    )


def test_every_value_is_expected() -> None:
    spoken = {line.partition(": ")[0].split(" ")[1] for line in EXPECTED.VALUES.strip().splitlines()}
    assert [entry.names for entry in LIBRARY.values if not spoken.intersection(entry.names)] == []


@pytest.mark.parametrize(
    ("profile", "symbol", "fails", "presumes"),
    [
        ("cuda", "pynvml.nvmlInit", False, "NVML works"),
        ("cuda", "vllm.third_party.pynvml.nvmlInit", False, "NVML works"),
        ("cuda-without-nvml", "pynvml.nvmlInit", True, "NVML works"),
        ("rocm", "pynvml.nvmlInit", True, "NVML works"),
        ("rocm", "amdsmi.amdsmi_init", False, "amdsmi works"),
        ("cuda", "amdsmi.amdsmi_init", True, "amdsmi works"),
        ("cuda", "torch.mps.empty_cache", True, "there is a GPU of Apple's"),
    ],
)
def test_a_call_that_needs_something(profile: str, symbol: str, fails: bool, presumes: str) -> None:
    raises = load(PROFILES[profile], {}).raises[symbol]
    assert (raises.fails, raises.presumes) == (fails, presumes)


@pytest.mark.parametrize("entry", LIBRARY.harmless, ids=lambda entry: entry.names[0])
def test_what_is_called_harmless_is_harmless_everywhere(entry: object) -> None:
    names = getattr(entry, "names", ())
    for profile in PROFILES.values():
        found = load(profile, {})
        wakes = [name for name in names if found.call(name) and not getattr(entry, "versions", "")]
        assert wakes == []


@pytest.mark.parametrize(
    ("symbol", "type_"),
    [
        ("torch.zeros", "torch.Tensor"),
        ("torch.nn.Linear", "torch.nn.Module"),
        ("torch.nn.Parameter", "torch.Tensor"),
        ("pycuda.driver.Device", "pycuda.driver.Device"),
        ("cuda.core.Device", "cuda.core.Device"),
        ("torch.nn.functional", "torch.nn.Module"),
        ("torch.cuda.current_device", None),
    ],
)
def test_what_a_call_returns(symbol: str, type_: str | None) -> None:
    assert load(PROFILES["cuda"], {}).returned(symbol) == type_


@pytest.mark.parametrize("line", EXPECTED.WRAPS.strip().splitlines())
def test_a_maker_wraps_what_is_expected_of_it(line: str) -> None:
    head, _, symbols = line.partition(": ")
    wraps = load(PROFILES["cuda"], {}).wraps
    for symbol in symbols.split():
        known = wraps.get(symbol)
        told = "none" if known is None else f"{known.function} {'same' if known.keeps_value else 'other'}"
        assert told == head, symbol


def test_every_maker_is_expected() -> None:
    spoken = EXPECTED.WRAPS.split()
    assert [entry.names for entry in LIBRARY.wraps if not set(entry.names) & set(spoken)] == []


def test_every_entry_names_its_source_and_a_remedy_that_exists() -> None:
    remedies = {remedy.id for remedy in LIBRARY.remedies}
    for entries in (
        LIBRARY.effects,
        LIBRARY.values,
        LIBRARY.raises,
        LIBRARY.harmless,
        LIBRARY.returns,
        LIBRARY.wraps,
    ):
        assert [entry.names for entry in entries if not entry.source.strip()] == []
    assert [entry.names for entry in LIBRARY.effects if entry.remedy not in remedies] == []
    assert all(remedy.text.endswith(".") for remedy in LIBRARY.remedies)


def test_no_symbol_is_told_twice_for_one_version() -> None:
    """Two entries that overlap would report the same line twice."""
    for profile in PROFILES.values():
        for versions in ({}, {"torch": "2.8.0"}, {"torch": "1.12.0"}, {"torch": "2.4.1", "triton": "3.3.1"}):
            for symbol, facts in load(profile, versions).calls.items():
                told = [(fact.accelerator, fact.argument) for fact in facts]
                assert len(told) == len(set(told)), (profile.name, versions, symbol)


def test_torch_knows_the_names_it_is_blamed_for() -> None:
    """Asked of an installed torch, where there is one."""
    torch = pytest.importorskip("torch")
    version = torch.__version__
    found = load(PROFILES["cuda"], {"torch": version})
    for symbol in ("torch.cuda.is_available", "torch.cuda.get_device_capability", "torch.cuda.device_count"):
        assert found.call(symbol)
    missing = [
        symbol
        for symbol in found.calls
        if symbol.startswith("torch.") and "torch._C" not in symbol and not _exists(symbol)
    ]
    # A CPU build of one version lacks what other versions had; the bulk must be there.
    assert len(missing) < len(found.calls) // 4, missing
    assert torch.cuda.is_initialized() is found.values["torch.cuda.is_initialized()"].constant


def _exists(symbol: str) -> bool:
    """Whether a dotted name leads somewhere."""
    parts = symbol.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        name = ".".join(parts[:cut])
        try:
            target: object = sys.modules.get(name) or importlib.import_module(name)
        except ImportError:
            continue
        for part in parts[cut:]:
            target = getattr(target, part, None)
        return target is not None
    return False


def test_expectations_can_be_read() -> None:
    """Each expected constant is a Python literal."""
    for line in EXPECTED.VALUES.strip().splitlines():
        expected = line.partition(": ")[2]
        if expected not in ("?", "set"):
            ast.literal_eval(expected)
