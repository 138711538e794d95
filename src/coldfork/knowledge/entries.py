"""Entries of the knowledge base, as flat as they are compiled: their words, and the versions they
hold for.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

ACCELERATORS = ("cuda", "rocm", "xpu", "opencl", "jax")
#: A condition on the machine other than its accelerators.
OTHERWISE = "otherwise"
NEEDS = ("nvml", *ACCELERATORS)
SILENCES = ("nvml-fails", "amdsmi-fails")
DOES = ("initialises-driver", "creates-context", "queries-device", "loads-driver")
KINDS = {"none": None, "true": True, "false": False, "set": None}
HOW = {
    "calls": "call",
    "helpers": "helper",
    "imports": "import",
    "attributes": "attribute",
    "methods": "method",
}

COMMON = ("distribution", "versions", "source", "note")
KEYS: dict[str, tuple[str, ...]] = {
    "effect": (
        *COMMON, *HOW, "receivers", "except", "does", "accelerator", "under", "only_if", "unless_env",
        "argument", "unless_argument", "presumes", "remedy", "unversioned", "softens", "despite", "when",
    ),
    "value": (*COMMON, "names", "is", "equals"),
    "raises": (*COMMON, "calls", "needs", "presumes"),
    "harmless": (*COMMON, "prefixes"),
    "returns": (*COMMON, "calls", "except", "type"),
    "wraps": (*COMMON, "calls", "function", "keeps_value"),
    "alias": ("name", "of", "source", "note"),
    "remedy": ("id", "text"),
}  # fmt: skip
TOP = ("distribution", "summary", *KEYS)
ARGUMENT = (
    "name",
    "position",
    "startswith",
    "integers",
    "through",
    "equals",
    "endswith",
    "other_than",
    "data",
    "negative",
    "empty",
)


def near(name: str, known: Collection[str]) -> str:
    """Return a hint that names the known word closest to `name`, or nothing."""
    from difflib import get_close_matches

    matches = get_close_matches(name, list(known), 1, 0.7)
    return f"; did you mean {matches[0]!r}?" if matches else ""


PerAccelerator = tuple[tuple[str, tuple[str, ...]], ...]


class ArgumentEntry(NamedTuple):
    """A test of an argument; its strings may differ by accelerator."""

    name: str
    position: int | None
    startswith: PerAccelerator
    integers: bool
    through: tuple[str, ...]
    equals: tuple[str | int | bool, ...]
    endswith: tuple[str, ...]
    other_than: tuple[str, ...]
    data: bool
    negative: bool
    empty: bool


class EffectEntry(NamedTuple):
    """One `[[effect]]`."""

    how: str
    names: tuple[str, ...]
    receivers: tuple[str, ...]
    excluded: tuple[str, ...]
    does: str
    accelerators: tuple[str, ...]
    under: tuple[str, ...]
    only_if: tuple[str, ...]
    unless_env: tuple[str, str] | None
    argument: ArgumentEntry | None
    unless_argument: tuple[ArgumentEntry, ...]
    presumes: str
    distribution: str
    versions: str
    newest: bool
    source: str
    remedy: str | None
    unversioned: str
    softens: bool
    when: str
    despite: str


class ValueEntry(NamedTuple):
    """One `[[value]]`: the kind and the constant per accelerator; the last one may be for "otherwise"."""

    names: tuple[str, ...]
    cases: tuple[tuple[str, str, str | int | bool | None], ...]
    distribution: str
    versions: str
    newest: bool
    source: str


class RaisesEntry(NamedTuple):
    """One `[[raises]]`: the calls fail unless the machine has what they need."""

    names: tuple[str, ...]
    needs: str
    presumes: str
    distribution: str
    versions: str
    newest: bool
    source: str


class HarmlessEntry(NamedTuple):
    """One `[[harmless]]`: dotted prefixes that are neither followed nor blamed."""

    names: tuple[str, ...]
    distribution: str
    versions: str
    newest: bool
    source: str


class ReturnsEntry(NamedTuple):
    """One `[[returns]]`: calls that return an instance of a class with methods in the catalogue."""

    names: tuple[str, ...]
    excluded: tuple[str, ...]
    type: str
    distribution: str
    versions: str
    newest: bool
    source: str


class WrapsEntry(NamedTuple):
    """One `[[wraps]]`: calls that make a function from the given one, as `jax.jit` does."""

    names: tuple[str, ...]
    function: str
    keeps_value: bool
    distribution: str
    versions: str
    newest: bool
    source: str


class RemedyEntry(NamedTuple):
    """One `[[remedy]]`."""

    id: str
    text: str


class AliasEntry(NamedTuple):
    """One `[[alias]]`: a distribution that shares the versions of another one."""

    name: str
    of: str
    source: str


class Library(NamedTuple):
    """All entries of one file."""

    effects: tuple[EffectEntry, ...] = ()
    values: tuple[ValueEntry, ...] = ()
    raises: tuple[RaisesEntry, ...] = ()
    harmless: tuple[HarmlessEntry, ...] = ()
    returns: tuple[ReturnsEntry, ...] = ()
    wraps: tuple[WrapsEntry, ...] = ()
    remedies: tuple[RemedyEntry, ...] = ()
    aliases: tuple[AliasEntry, ...] = ()


#: Represents a library of unknown version: newer than any bound that an entry may name.
NEWEST = "99999"

_RELEASE = re.compile(r"v?(\d+(?:\.\d+)*)(?!!)")
_CLAUSE = re.compile(r"(>=|<=|<|>|==|!=)(\d+(?:\.\d+)*)")


def admits(range_: str, version: str) -> bool:
    """Return whether `range_`, a PEP 440 specifier ("" admits everything), admits `version`.

    A pre-release, a local build and a post-release count as their release: PEP 440 puts 2.9.0a0 neither below
    2.9 nor above it, and a nightly build without facts would be called cold.
    """
    if not range_:
        return True
    match = _RELEASE.match(version)
    clauses = [_CLAUSE.fullmatch(clause.strip()) for clause in range_.split(",")]
    if match and all(clauses):
        release = _release(match[1])
        return all(_holds(clause[1], release, _release(clause[2])) for clause in clauses if clause)
    return _admits_by_packaging(range_, version)


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a plain release without trailing zeros: 2.8 and 2.8.0 are one version."""
    numbers = [int(part) for part in version.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _holds(operator: str, version: tuple[int, ...], bound: tuple[int, ...]) -> bool:
    """Apply one clause to plain releases."""
    match operator:
        case ">=":
            return version >= bound
        case "<=":
            return version <= bound
        case "<":
            return version < bound
        case ">":
            return version > bound
        case "==":
            return version == bound
        case _:
            return version != bound


def _admits_by_packaging(range_: str, version: str) -> bool:
    """Ask `packaging`: for epochs, wildcards, compatible-release clauses, and anything malformed."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        release = Version(version).base_version
    except InvalidVersion:
        release = NEWEST
    return SpecifierSet(range_).contains(release, prereleases=True)
