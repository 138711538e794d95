"""Entries of the knowledge base, flat as they are compiled: named rows of plain values."""

from __future__ import annotations

from typing import NamedTuple

PerAccelerator = tuple[tuple[str, tuple[str, ...]], ...]


class ArgumentEntry(NamedTuple):
    """A test on an argument; its strings may differ by accelerator."""

    name: str
    position: int | None
    startswith: PerAccelerator
    integers: bool
    through: tuple[str, ...]
    equals: tuple[str | int | bool, ...]
    endswith: tuple[str, ...]


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
    unless_argument: ArgumentEntry | None
    presumes: str
    distribution: str
    versions: str
    newest: bool
    source: str
    remedy: str | None


class ValueEntry(NamedTuple):
    """One `[[value]]`: the kind and the constant per accelerator, the last one may be for "otherwise"."""

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
    """One `[[harmless]]`: dotted prefixes that are never descended into nor blamed."""

    names: tuple[str, ...]
    distribution: str
    versions: str
    newest: bool
    source: str


class ReturnsEntry(NamedTuple):
    """One `[[returns]]`: calls that return an instance of a class whose methods the catalogue knows."""

    names: tuple[str, ...]
    excluded: tuple[str, ...]
    type: str
    distribution: str
    versions: str
    newest: bool
    source: str


class RemedyEntry(NamedTuple):
    """One `[[remedy]]`."""

    id: str
    text: str


class Library(NamedTuple):
    """All entries of one file."""

    effects: tuple[EffectEntry, ...] = ()
    values: tuple[ValueEntry, ...] = ()
    raises: tuple[RaisesEntry, ...] = ()
    harmless: tuple[HarmlessEntry, ...] = ()
    returns: tuple[ReturnsEntry, ...] = ()
    remedies: tuple[RemedyEntry, ...] = ()
