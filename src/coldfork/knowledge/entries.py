"""The entries of the catalogue in their compiled form, and the test of which versions they apply to."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

ACCELERATORS = ("cuda", "rocm", "xpu", "opencl", "jax")
#: Stands for every accelerator that an entry does not name.
OTHERWISE = "otherwise"
NEEDS = ("nvml", "mps", *ACCELERATORS)
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
    "raises": (*COMMON, "calls", "needs", "presumes", "error"),
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
    """Return a hint that names the allowed word closest to `name`; empty if none is close."""
    from difflib import get_close_matches

    matches = get_close_matches(name, list(known), 1, 0.7)
    return f"; did you mean {matches[0]!r}?" if matches else ""


PerAccelerator = tuple[tuple[str, tuple[str, ...]], ...]


class ArgumentEntry(NamedTuple):
    """A test of an argument; its strings may depend on the accelerator."""

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
    """An `[[effect]]` of a knowledge file."""

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
    """A `[[value]]`: a kind and a constant for each named accelerator, and perhaps for all others."""

    names: tuple[str, ...]
    cases: tuple[tuple[str, str, str | int | bool | None], ...]
    distribution: str
    versions: str
    newest: bool
    source: str


class RaisesEntry(NamedTuple):
    """A `[[raises]]`: calls that raise an error unless the machine has what they need."""

    names: tuple[str, ...]
    needs: str
    presumes: str
    error: str
    distribution: str
    versions: str
    newest: bool
    source: str


class HarmlessEntry(NamedTuple):
    """A `[[harmless]]`: dotted prefixes of names that the analysis neither follows nor blames."""

    names: tuple[str, ...]
    distribution: str
    versions: str
    newest: bool
    source: str


class ReturnsEntry(NamedTuple):
    """A `[[returns]]`: calls that return an instance of a class whose methods the catalogue knows."""

    names: tuple[str, ...]
    excluded: tuple[str, ...]
    type: str
    distribution: str
    versions: str
    newest: bool
    source: str


class WrapsEntry(NamedTuple):
    """A `[[wraps]]`: calls that turn a function into another, as `jax.jit` does."""

    names: tuple[str, ...]
    function: str
    keeps_value: bool
    distribution: str
    versions: str
    newest: bool
    source: str


class RemedyEntry(NamedTuple):
    """A `[[remedy]]` of a knowledge file."""

    id: str
    text: str


class AliasEntry(NamedTuple):
    """An `[[alias]]`: a distribution that has the same versions as another one."""

    name: str
    of: str
    source: str


class Library(NamedTuple):
    """All entries of one knowledge file."""

    effects: tuple[EffectEntry, ...] = ()
    values: tuple[ValueEntry, ...] = ()
    raises: tuple[RaisesEntry, ...] = ()
    harmless: tuple[HarmlessEntry, ...] = ()
    returns: tuple[ReturnsEntry, ...] = ()
    wraps: tuple[WrapsEntry, ...] = ()
    remedies: tuple[RemedyEntry, ...] = ()
    aliases: tuple[AliasEntry, ...] = ()


#: Stands for an unknown version of a library: newer than any version that an entry may name.
NEWEST = "99999"

_RELEASE = re.compile(r"v?(\d+(?:\.\d+)*)(?!!)")
_CLAUSE = re.compile(r"(>=|<=|<|>|==|!=)(\d+(?:\.\d+)*)")


def admits(range_: str, version: str) -> bool:
    """Return whether `version` is in `range_`, a PEP 440 specifier; if that is empty, every version is.

    Pre-releases, local builds and post-releases count as their release. For PEP 440, 2.9.0a0 is neither in
    `<2.9` nor in `>=2.9`, so no fact would apply to a nightly build, and it would be called cold.
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
    """Return a plain release as numbers, without trailing zeros, so that 2.8 and 2.8.0 are equal."""
    numbers = [int(part) for part in version.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _holds(operator: str, version: tuple[int, ...], bound: tuple[int, ...]) -> bool:
    """Return whether a release satisfies one clause of a range."""
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
    """Use `packaging` for ranges with epochs, wildcards or compatible releases, and for invalid ranges."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        release = Version(version).base_version
    except InvalidVersion:
        release = NEWEST
    return SpecifierSet(range_).contains(release, prereleases=True)
