"""The packages that are surveyed, and what reading showed of each line that `check` named."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Package:
    """A package of the survey."""

    name: str
    top: tuple[str, ...] = ()
    """The packages that are imported, where the name does not say it."""
    beside: tuple[str, ...] = ()
    """The requirements, where no wheel says them."""
    environment: str = ""
    """The environment in which its modules are imported; empty where it cannot be installed."""

    @property
    def tops(self) -> tuple[str, ...]:
        """The names of the folders that hold its modules."""
        return self.top or (self.name.replace("-", "_"),)


@dataclass(frozen=True, slots=True)
class Listing:
    """The packages, and those that are only read because others require them."""

    packages: tuple[Package, ...]
    companions: tuple[str, ...]


def listed(file: Path = _HERE / "packages.toml") -> Listing:
    """Read the list."""
    read = tomllib.loads(file.read_text(encoding="utf-8"))
    packages = tuple(
        Package(
            row["name"],
            tuple(row.get("top", ())),
            tuple(row.get("beside", ())),
            row.get("environment", ""),
        )
        for row in read["package"]
    )
    return Listing(packages, tuple(read["companions"]))


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading a line showed: the finding is true, or why it is not, and what there is to say."""

    true: bool
    note: str = ""


def readings(file: Path = _HERE / "readings.toml") -> dict[str, dict[str, Reading]]:
    """Return the readings by package, then by the place that `key` gives."""
    read: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    return {
        package: {place: Reading(row["true"], row.get("note", "")) for place, row in rows.items()}
        for package, rows in read.items()
    }


def key(path: str, call: str | None) -> str:
    """Name a cause as readings do: lines move from release to release, a file and a call stay."""
    return f"{path} {call}"
