"""Selects the entries of the catalogue that apply to one machine and its installed versions."""

from __future__ import annotations

from collections.abc import Mapping

from coldfork.knowledge.allowance import Share, share
from coldfork.knowledge.entries import (
    ArgumentEntry,
    EffectEntry,
    HarmlessEntry,
    Library,
    RaisesEntry,
    ReturnsEntry,
    ValueEntry,
    WrapsEntry,
    admits,
)
from coldfork.knowledge.facts import (
    SILENT_MANAGEMENT,
    ArgumentTest,
    Fact,
    MethodFact,
    Raises,
    Value,
    ValueKind,
    Wildcard,
    Wraps,
)
from coldfork.model.effects import EffectKind, Profile

Versioned = EffectEntry | ValueEntry | RaisesEntry | HarmlessEntry | ReturnsEntry | WrapsEntry

_OTHERWISE = "otherwise"
_LOOKED_UP = ("call", "helper", "attribute", "import")
_MANAGED_BY = {"nvml-fails": "cuda", "amdsmi-fails": "rocm"}


class Selection:
    """Collects the facts that apply under one profile and one set of versions."""

    def __init__(
        self, profile: Profile, versions: Mapping[str, str], required: Mapping[str, tuple[str, ...]]
    ) -> None:
        self.profile = profile
        self.versions = versions
        self.required = required
        self.asked: dict[str, object] = {}
        """The versions that were used, by distribution: the installed ones, else the allowed ones,
        else None.
        """
        self.exact: dict[str, dict[str, list[Fact]]] = {how: {} for how in _LOOKED_UP}
        self.wild: dict[str, dict[str, list[Wildcard]]] = {how: {} for how in _LOOKED_UP}
        self.methods: dict[str, list[MethodFact]] = {}
        self.values: dict[str, Value] = {}
        self.raises: dict[str, Raises] = {}
        self.returns: dict[str, str] = {}
        self.wild_returns: dict[str, list[tuple[str, frozenset[str]]]] = {}
        self.wraps: dict[str, Wraps] = {}
        self.harmless: list[str] = []
        self.remedies: dict[str, str] = {}
        self._ranges: dict[tuple[str, object], Share] = {}
        self._aliases: dict[str, list[str]] = {}
        self._older: list[tuple[EffectEntry, str]] = []
        """Effects of allowed versions other than the newest."""

    def add(self, library: Library) -> None:
        """Add the facts of one library's entries that apply to this machine."""
        for alias in library.aliases:
            self._aliases.setdefault(alias.of, []).append(alias.name)
        for effect in library.effects:
            self._add_effect(effect)
        for value in library.values:
            self._add_value(value)
        for failing in library.raises:
            self._add_raises(failing)
        for harmless in library.harmless:
            if self._applies(harmless):
                self.harmless.extend(harmless.names)
        for returning in library.returns:
            self._add_returns(returning)
        for wrapping in library.wraps:
            if self._applies(wrapping):
                told = wrapping.function, wrapping.keeps_value
                self.wraps.update((name, Wraps(name, *told)) for name in wrapping.names)
        self.remedies.update((remedy.id, remedy.text) for remedy in library.remedies)

    def finish(self) -> None:
        """Add effects of older allowed versions, for names without an effect in the newest version."""
        told = {
            (entry.how, name)
            for entry, _ in self._older
            for name in entry.names
            if self._is_told(entry, name)
        }
        for entry, condition in self._older:
            left = tuple([name for name in entry.names if (entry.how, name) not in told])
            if left:
                self._add_facts(entry._replace(names=left, when=condition), condition)

    def _is_told(self, entry: EffectEntry, name: str) -> bool:
        """Return whether there already is a fact about this name."""
        if entry.receivers:
            return any(set(fact.receivers) & set(entry.receivers) for fact in self.methods.get(name, ()))
        return name in self.exact[entry.how] or name.removesuffix(".*") in self.wild[entry.how]

    def _share(self, entry: Versioned) -> Share:
        """Return how many of the versions that may be installed are in the entry's range."""
        if not entry.versions:
            return Share.ALL
        name = entry.distribution
        names = self._names_of(name)
        told = (held.get(one) for held in (self.versions, self.required) for one in names)
        known: object = next(filter(None, told), None)
        self.asked[name] = known
        if known is None:
            return Share.ALL if entry.newest else Share.NONE
        key = (entry.versions, known)
        if key not in self._ranges:
            if isinstance(known, str):
                self._ranges[key] = Share.ALL if admits(entry.versions, known) else Share.NONE
            else:
                self._ranges[key] = share(entry.versions, known)  # type: ignore[arg-type]
        return self._ranges[key]

    def _names_of(self, distribution: str) -> list[str]:
        """Return the distribution's name, and the names of distributions with the same versions."""
        return [distribution, *self._aliases.get(distribution, ())]

    def _applies(self, entry: Versioned) -> bool:
        """Return whether the entry applies to the installed version or, without one, to the one that would
        be.
        """
        return self._share(entry) in (Share.ALL, Share.NEWEST)

    def _unversioned(self, entry: EffectEntry) -> str | None:
        """Return the condition for an effect of older versions if the version is unknown."""
        told = self.asked.get(entry.distribution) is not None
        return None if told or not entry.unversioned else entry.unversioned

    def _has(self, need: str) -> bool:
        """Return whether the profile has this accelerator, or NVML."""
        return self.profile.nvml if need == "nvml" else need in self.profile.accelerators

    def _answers(self, silence: str) -> bool:
        """Return whether the management library answers under this profile, although the effect needs it
        silent.
        """
        return self._has("nvml" if silence == "nvml-fails" else "rocm")

    def _accelerator(self, entry: EffectEntry) -> str | None:
        """Return the accelerator that the effect concerns under this profile, if any."""
        present = self.profile.accelerators
        if entry.under:
            here = present or {_OTHERWISE}
            return entry.accelerators[0] if not here.isdisjoint(entry.under) else None
        return next((name for name in entry.accelerators if name in present), None)

    def _add_effect(self, entry: EffectEntry) -> None:
        """Add the facts of one `[[effect]]`."""
        held = self._share(entry)
        told = f"{entry.distribution} {entry.versions} is installed"
        if held is Share.SOME:
            self._older.append((entry, told))
            return
        unversioned = self._unversioned(entry) if held is Share.NONE else ""
        if unversioned is not None:
            presumed = told if held is Share.NEWEST and not entry.presumes else entry.presumes
            self._add_facts(entry._replace(presumes=presumed), unversioned)

    def _add_facts(self, entry: EffectEntry, unversioned: str) -> None:
        """Add the facts of an applicable `[[effect]]`, with or without a condition."""
        accelerator = self._accelerator(entry)
        if accelerator is None:
            return
        argument = _argument(entry.argument, accelerator)
        if entry.argument is not None and argument is None:
            return
        does, condition, environment = EffectKind(entry.does), unversioned or entry.when or None, None
        answering = next(filter(self._answers, entry.only_if), None)
        if answering is not None:
            does, condition = EffectKind.QUERIES_DEVICE, SILENT_MANAGEMENT[_MANAGED_BY[answering]]
        elif accelerator == "rocm" or (accelerator == "cuda" and self.profile.nvml):
            # Even with the variable set, a query reaches the driver if no management library answers.
            environment = entry.unless_env
        unless = tuple(filter(None, [_argument(test, accelerator) for test in entry.unless_argument]))
        for name in entry.names:
            symbol = f"{entry.receivers[0]}.{name}" if entry.receivers else name
            self._file(
                entry,
                name,
                Fact(
                    symbol,
                    does,
                    accelerator,
                    entry.distribution,
                    condition,
                    environment,
                    argument,
                    unless,
                    entry.source,
                    entry.remedy,
                    entry.presumes,
                    entry.softens,
                    entry.despite if accelerator == entry.accelerators[0] else "",
                ),
            )

    def _file(self, entry: EffectEntry, name: str, fact: Fact) -> None:
        """Store a fact under its name, wildcard or method."""
        if entry.receivers:
            self.methods.setdefault(name, []).append(MethodFact(name, entry.receivers, fact))
        elif name.endswith(".*"):
            wildcard = Wildcard((fact,), frozenset(entry.excluded))
            self.wild[entry.how].setdefault(name[:-2], []).append(wildcard)
        else:
            self.exact[entry.how].setdefault(name, []).append(fact)

    def _add_value(self, entry: ValueEntry) -> None:
        """Add the facts of one `[[value]]` that hold on this machine."""
        if not self._applies(entry):
            return
        for machine, kind, constant in entry.cases:
            if machine == _OTHERWISE or machine in self.profile.accelerators:
                for name in entry.names:
                    self.values[name] = Value(name, ValueKind(kind), constant, entry.source)
                return

    def _add_raises(self, entry: RaisesEntry) -> None:
        """Add one `[[raises]]`."""
        if self._applies(entry):
            fails = not self._has(entry.needs)
            for name in entry.names:
                self.raises[name] = Raises(name, fails, entry.presumes, entry.error, entry.source)

    def _add_returns(self, entry: ReturnsEntry) -> None:
        """Add one `[[returns]]`."""
        if not self._applies(entry):
            return
        for name in entry.names:
            if name.endswith(".*"):
                self.wild_returns.setdefault(name[:-2], []).append((entry.type, frozenset(entry.excluded)))
            else:
                self.returns[name] = entry.type


def _argument(entry: ArgumentEntry | None, accelerator: str) -> ArgumentTest | None:
    """Return the argument test for one accelerator; None if the test has no meaning for that."""
    if entry is None:
        return None
    by_accelerator = dict(entry.startswith)
    beginnings = by_accelerator.get(accelerator) or by_accelerator.get(_OTHERWISE) or ()
    if by_accelerator and not beginnings:
        return None
    return ArgumentTest(
        entry.name,
        entry.position,
        beginnings,
        entry.integers,
        entry.through,
        entry.equals,
        entry.endswith,
        entry.other_than,
        entry.data,
        entry.negative,
        entry.empty,
    )
