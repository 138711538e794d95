"""Whether a version lies in a range, as PEP 440 has it, without paying for `packaging` in the plain cases."""

from __future__ import annotations

import re

#: Stands for a library whose version nobody told us: newer than any bound an entry may name.
NEWEST = "99999"

_RELEASE = re.compile(r"v?(\d+(?:\.\d+)*)(?!!)")
_CLAUSE = re.compile(r"(>=|<=|<|>|==|!=)(\d+(?:\.\d+)*)")


def admits(range_: str, version: str) -> bool:
    """Say whether `range_`, a PEP 440 specifier ("" admits everything), admits `version`.

    A pre-release, a build of one's own and a post-release count as the release they belong to: PEP 440 puts
    2.9.0a0 neither below 2.9 nor above it, and a nightly of which nothing is known would be called cold.
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
    """The numbers of a plain release, without the zeros at its end: 2.8 and 2.8.0 are one version."""
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
    """Ask `packaging`: epochs, wildcards, compatible-release clauses, and whatever is malformed."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion, Version

    try:
        release = Version(version).base_version
    except InvalidVersion:
        release = NEWEST
    return SpecifierSet(range_).contains(release, prereleases=True)
