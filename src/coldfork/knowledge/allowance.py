"""Compares a range of versions with the versions that a project's requirements allow."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from enum import Enum, auto

from coldfork.knowledge.entries import NEWEST, admits

_VERSION = re.compile(r"\d+(?:\.\d+)*")
_SUFFIX = re.compile(r"(\d)(?:[.\-_]?(?:a|b|c|rc|alpha|beta|pre|dev|post)\.?\d*)+(?:\+[\w.]+)?|\+[\w.]+")
_MANY = 99999


class Share(Enum):
    """How many of the allowed versions are in a range."""

    ALL = auto()
    """All of them or, if there is no upper bound, the newest of all."""
    NEWEST = auto()
    """The newest one, which an installer takes, but not all."""
    SOME = auto()
    """Only some of the allowed versions, which are older than the others."""
    NONE = auto()


def share(range_: str, required: Collection[str]) -> Share:
    """Return how many of the versions allowed by any of the `required` specifiers are in `range_`.

    Only the versions that the specifiers name, and their neighbours on either side, are tried, because
    nothing changes between these. Without an upper bound, an installer takes the newest version of all.
    """
    plain = [_SUFFIX.sub(r"\1", one) for one in required]
    allowed = [one for one in _tried((range_, *plain)) if any(_allows(spec, one) for spec in plain)]
    if NEWEST in allowed:
        return Share.ALL if admits(range_, NEWEST) else Share.NONE
    held = [admits(range_, one) for one in allowed]
    if not any(held):
        return Share.NONE
    if all(held):
        return Share.ALL
    return Share.NEWEST if held[-1] else Share.SOME


def _allows(specifier: str, version: str) -> bool:
    try:
        return admits(specifier, version)
    except ValueError:  # not a version specifier, or one that only a particular tool understands
        return False


def _tried(specifiers: Collection[str]) -> list[str]:
    """Return, in order, the versions that the specifiers name, and those just below and above."""
    named = {tuple(map(int, found.split("."))) for one in specifiers for found in _VERSION.findall(one)}
    releases = {release for one in named for release in (one, (*one, 0, 0, 0, 1), *_below(one))}
    ordered = sorted(releases, key=_without_zeros)
    return [".".join(map(str, release)) for release in ordered] + [NEWEST]


def _below(release: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the versions just below a release."""
    numbers = list(_without_zeros(release))
    if numbers:
        numbers[-1] -= 1
        yield (*numbers, _MANY)


def _without_zeros(release: tuple[int, ...]) -> tuple[int, ...]:
    numbers = list(release)
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
