"""A claim, what was found, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One claim held against a device."""

    section: str
    claim: str
    """A sentence that is true or false."""
    holds: bool | None
    """None where it could not be tried."""
    expected: Any = None
    found: Any = None
    note: str | None = None


@dataclass(frozen=True)
class Section:
    """The findings on one subject, with everything that its programs answered."""

    name: str
    findings: tuple[Finding, ...]
    answers: Any


def same(section: str, claim: str, expected: Any, found: Any, note: str | None = None) -> Finding:
    """A claim that holds when exactly the expected thing was found."""
    return Finding(section, claim, expected == found, expected, found, note)


def untestable(section: str, claim: str, why: str) -> Finding:
    """A claim that could not be tried."""
    return Finding(section, claim, None, note=why)
