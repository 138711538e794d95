"""The catalogue: the facts about libraries that hold on one machine with its installed versions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from coldfork.knowledge import compiled
from coldfork.knowledge.entries import (
    AliasEntry,
    ArgumentEntry,
    EffectEntry,
    HarmlessEntry,
    Library,
    RaisesEntry,
    RemedyEntry,
    ReturnsEntry,
    ValueEntry,
    WrapsEntry,
)
from coldfork.knowledge.facts import (
    ArgumentTest,
    Fact,
    MethodFact,
    Raises,
    Value,
    ValueKind,
    Wildcard,
    Wraps,
)
from coldfork.knowledge.selection import Selection
from coldfork.model.effects import Profile

__all__ = ["ArgumentTest", "Catalogue", "Fact", "MethodFact", "Raises", "Value", "ValueKind", "Wraps", "load"]

#: How error messages refer to the user's own table.
EXTRA = "[tool.coldfork.knowledge]"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All facts by dotted name. The dictionaries contain only exact names; the methods also try wildcards."""

    calls: dict[str, tuple[Fact, ...]] = field(default_factory=dict)
    helpers: dict[str, tuple[Fact, ...]] = field(default_factory=dict)
    """Calls of functions whose own source, if it is at hand, shows the same effects."""
    attributes: dict[str, tuple[Fact, ...]] = field(default_factory=dict)
    imports: dict[str, tuple[Fact, ...]] = field(default_factory=dict)
    methods: dict[str, tuple[MethodFact, ...]] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
    """Values of attributes by name, and of calls by the name followed by "()"."""
    raises: dict[str, Raises] = field(default_factory=dict)
    returns: dict[str, str] = field(default_factory=dict)
    """Calls that return an instance of a class whose methods are in `methods`."""
    harmless: frozenset[str] = frozenset()
    remedies: dict[str, str] = field(default_factory=dict)
    call_wildcards: dict[str, tuple[Wildcard, ...]] = field(default_factory=dict)
    attribute_wildcards: dict[str, tuple[Wildcard, ...]] = field(default_factory=dict)
    return_wildcards: dict[str, tuple[tuple[str, frozenset[str]], ...]] = field(default_factory=dict)
    wraps: dict[str, Wraps] = field(default_factory=dict)
    """Calls that turn a function into another function."""
    waiting: frozenset[str] = frozenset()
    """Calls whose results, such as decorators, may wake something when they are called."""

    def call(self, symbol: str) -> tuple[Fact, ...]:
        """Return the effects of calling (or constructing) `symbol`; empty if none are known."""
        return self.calls.get(symbol) or _by_wildcard(self.call_wildcards, symbol)

    def attribute(self, symbol: str) -> tuple[Fact, ...]:
        """Return the effects of reading `symbol`; empty if none are known."""
        return self.attributes.get(symbol) or _by_wildcard(self.attribute_wildcards, symbol)

    def returned(self, symbol: str) -> str | None:
        """Return the class of the object that calling `symbol` returns, if the catalogue knows the class."""
        known = self.returns.get(symbol)
        if known is not None:
            return known
        parent, _, name = symbol.rpartition(".")
        for type_, excluded in self.return_wildcards.get(parent, ()):
            if name not in excluded:
                return type_
        return None

    def is_harmless(self, symbol: str) -> bool:
        """Return whether `symbol` is under a harmless prefix and has no fact of its own."""
        if symbol in self.calls or symbol in self.attributes or symbol in self.imports:
            return False
        prefix = symbol
        while prefix:
            if prefix in self.harmless:
                return True
            prefix = prefix.rpartition(".")[0]
        return False


def load(
    profile: Profile,
    versions: Mapping[str, str],
    extra: Mapping[str, object] | None = None,
    required: Mapping[str, tuple[str, ...]] | None = None,
) -> Catalogue:
    """Load the facts for `profile` and `versions`, and the user's own facts from `extra`.

    If `versions` does not name a distribution, the versions that the checked project allows are considered,
    by its specifiers in `required`. Without specifiers, the version is taken to be newer than every bound.
    """
    if extra:
        return _load(profile, versions, extra, required or {})
    return _loaded(profile, tuple(sorted(versions.items())), tuple(sorted((required or {}).items())))


@lru_cache(maxsize=4)
def _loaded(
    profile: Profile, versions: tuple[tuple[str, str], ...], required: tuple[tuple[str, tuple[str, ...]], ...]
) -> Catalogue:
    """Return the catalogue, cached for sessions that load the same one again."""
    return _load(profile, dict(versions), None, dict(required))


def _load(
    profile: Profile,
    versions: Mapping[str, str],
    extra: Mapping[str, object] | None,
    required: Mapping[str, tuple[str, ...]],
) -> Catalogue:
    selection = Selection(profile, versions, required)
    selection.add(built_in())
    if extra:
        from coldfork.knowledge.schema import read

        selection.add(read(extra, EXTRA))
    selection.finish()
    return Catalogue(
        _frozen(selection.exact["call"]),
        _frozen(selection.exact["helper"]),
        _frozen(selection.exact["attribute"]),
        _frozen(selection.exact["import"]),
        _frozen(selection.methods),
        selection.values,
        selection.raises,
        selection.returns,
        frozenset(selection.harmless),
        selection.remedies,
        _frozen(selection.wild["call"]),
        _frozen(selection.wild["attribute"]),
        _frozen(selection.wild_returns),
        selection.wraps,
        frozenset([name[:-2] for name in selection.exact["call"] if name[-1] == ")"]),
    )


def built_in() -> Library:
    """Return all entries that come with coldfork."""
    return Library(
        tuple(_effect(row) for row in compiled.EFFECTS),
        tuple(ValueEntry(*row) for row in compiled.VALUES),
        tuple(RaisesEntry(*row) for row in compiled.RAISES),
        tuple(HarmlessEntry(*row) for row in compiled.HARMLESS),
        tuple(ReturnsEntry(*row) for row in compiled.RETURNS),
        tuple(WrapsEntry(*row) for row in compiled.WRAPS),
        tuple(RemedyEntry(*row) for row in compiled.REMEDIES),
        tuple(AliasEntry(*row) for row in compiled.ALIASES),
    )


def _effect(row: tuple[object, ...]) -> EffectEntry:
    """Return the effect entry in a compiled row, including its argument tests."""
    entry = EffectEntry(*row)  # type: ignore[arg-type]
    if entry.argument is None and not entry.unless_argument:
        return entry
    return entry._replace(
        argument=entry.argument and ArgumentEntry(*entry.argument),
        unless_argument=tuple(ArgumentEntry(*test) for test in entry.unless_argument),
    )


def _frozen(lists: Mapping[str, Iterable[T]]) -> dict[str, tuple[T, ...]]:
    """Return the dictionary with each list of values turned into a tuple."""
    return {key: tuple(values) for key, values in lists.items()}


def _by_wildcard(wildcards: Mapping[str, tuple[Wildcard, ...]], symbol: str) -> tuple[Fact, ...]:
    """Return the facts about `symbol` from wildcards for everything directly inside its parent."""
    parent, _, name = symbol.rpartition(".")
    about = wildcards.get(parent)
    return () if about is None else tuple([fact for one in about for fact in one.about(symbol, name)])
