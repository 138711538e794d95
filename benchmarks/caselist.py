"""The known bugs: where each one's culprit stands, what guards it, what has to stand beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from published.errors import UnavailableError
from published.sources import Wanted

TABLE = Path(__file__).with_name("cases.json")
SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a file, named from the folder that holds the top package."""

    path: str
    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> Place:
        """Read `package/module.py:12` or `package/module.py:12-14`."""
        match = re.fullmatch(r"(\S+\.py):(\d+)(?:-(\d+))?", text)
        if match is None:
            raise UnavailableError(f"{text!r} is not FILE.py:LINE or FILE.py:FIRST-LAST")
        first = int(match[2])
        return cls(match[1], first, int(match[3] or first))

    def holds(self, path: str | None, line: int | None) -> bool:
        """Whether a line lies in this place."""
        return path == self.path and line is not None and self.first <= line <= self.last

    def __str__(self) -> str:
        return f"{self.path}:{self.first}" + (f"-{self.last}" if self.last > self.first else "")


@dataclass(frozen=True, slots=True)
class Culprit:
    """One thing that has to be found; any of its places will do."""

    places: tuple[Place, ...]
    fixed_places: tuple[Place, ...] = ()
    """Where the statement stands in the fixed version, when its text does not tell."""
    remains: frozenset[str] = frozenset()
    """Effects that the fix left standing on purpose or by mistake; they are no false alarms."""


@dataclass(frozen=True, slots=True)
class Case:
    """One published bug with its buggy and fixed versions."""

    id: str
    repository: str
    number: int | None
    url: str | None
    package: str
    trouble: str
    mended: str | None
    static: str
    """`yes` when it happens on import; `partly` and `no` are for other parts of coldfork."""
    guarded: str | None
    """The author's condition that stands around the culprit, when one does."""
    buggy: tuple[Wanted, ...]
    """The first one is judged; the others have the same trouble, on other lines perhaps."""
    fixed: Wanted | None
    culprits: tuple[Culprit, ...]
    beside: tuple[Wanted | str, ...] = ()
    """Companions; a bare name means the version of the case's own package that is being judged."""
    profile: str = "cuda"
    position: str | None = None
    program: Mapping[str, str] | None = None
    """A small program to check instead of the package itself, for bugs that show in their users' code."""
    fix_is_warm: bool = False
    """True when the fix itself wakes the device at the same place, so that it cannot count as clean."""

    @property
    def on_import(self) -> bool:
        """Whether `coldfork check` is the part of coldfork that has to find it."""
        return self.static == "yes"

    @property
    def top(self) -> str:
        """The top package that is checked."""
        return self.culprits[0].places[0].path.partition("/")[0]


def load(table: Path = TABLE) -> tuple[Case, ...]:
    """Read the table of cases; ids are unique."""
    data = json.loads(table.read_text(encoding="utf-8"))
    if data.get("schema") != SCHEMA:
        raise UnavailableError(f"{table.name} has schema {data.get('schema')}, this program reads {SCHEMA}")
    cases = tuple(_case(row) for row in data["cases"])
    if len({case.id for case in cases}) != len(cases):
        raise UnavailableError(f"{table.name} names a case twice")
    return cases


def _case(row: Mapping[str, Any]) -> Case:
    package = row["package"]
    plain = {
        key: row[key]
        for key in ("id", "repository", "number", "url", "package", "trouble", "mended", "static", "guarded")
    }
    optional = {key: row[key] for key in ("profile", "position", "program", "fix_is_warm") if key in row}
    return Case(
        **plain,
        **optional,
        buggy=tuple(_version(package, text) for text in row["buggy"]),
        fixed=None if row["fixed"] is None else _version(package, row["fixed"]),
        culprits=tuple(_culprit(culprit) for culprit in row["culprits"]),
        beside=tuple(Wanted.parse(text) if "==" in text else text for text in row.get("beside", ())),
    )


def _version(package: str, text: str) -> Wanted:
    return Wanted.parse(f"{package}=={text}")


def _culprit(row: Mapping[str, Any]) -> Culprit:
    return Culprit(
        tuple(Place.parse(text) for text in row["places"]),
        tuple(Place.parse(text) for text in row.get("fixed_places", ())),
        frozenset(row.get("remains", ())),
    )
