"""Surveys the newest releases of widely used packages and writes docs/survey.md: `./dev survey [NAME...]`

An interrupted survey goes on where it stopped. What was found for a release is kept in `.bench/survey/`;
`--again` checks it anew, and `--kept` writes the page from what is kept, after new readings for example.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import mount
from benchmarks.survey import inspecting, newest, page, probing
from benchmarks.survey.inspecting import Release
from benchmarks.survey.listing import Listing, Package, listed, readings
from benchmarks.survey.page import Surveyed
from published import places
from published.errors import UnavailableError
from published.sources import Wanted

PAGE = places.ROOT / "docs" / "survey.md"
VERSIONS = "versions.json"


class Survey:
    """The packages, their newest versions, and what is kept of them."""

    def __init__(self, listing: Listing, kept: Path, again: frozenset[str], works: bool = True) -> None:
        """Take up what is kept in a folder, except for the packages to survey again.

        If it does not work, nothing is fetched, checked or imported.
        """
        self.listing = listing
        self._kept = kept
        self._again = again
        self._works = works
        self._packages = {package.name: package for package in listing.packages}
        self._versions: dict[str, str] = {}
        self._readings = readings()

    def begin(self) -> None:
        """Ask which releases are the newest, and fetch them; an interrupted survey asked already."""
        file = self._kept / VERSIONS
        noted: dict[str, Any] = {"ended": True, "versions": {}}
        if file.is_file():
            noted = json.loads(file.read_text(encoding="utf-8"))
        if not (self._works and noted["ended"]):
            self._versions = noted["versions"]
        if not self._works:
            return
        names = sorted({*self._packages, *self.listing.companions})
        for number, name in enumerate(names, 1):
            if name not in self._versions:
                self._versions[name] = newest.newest(name)
                _write(file, {"ended": False, "versions": self._versions})
            if newest.present(name, self._versions[name]) is None:
                _say(f"fetching {number} of {len(names)}: {name} {self._versions[name]}")
                newest.fetched(name, self._versions[name])

    def end(self) -> None:
        """Let the next survey ask for the newest releases."""
        _write(self._kept / VERSIONS, {"ended": True, "versions": self._versions})

    def of(self, package: Package) -> Surveyed:
        """Check one package, draft the fixes of what was read, and import what can be imported."""
        release = self._release(package)
        row = self._once(package, "found", [], lambda: inspecting.inspected(release))
        read = self._readings.get(package.name, {})
        bare = self._surveyed(package, row, read, {}, {})
        causes = sorted(cause["id"] for cause in bare.shown)
        fixes = (
            self._once(package, "fixes", causes, lambda: inspecting.mended(release, causes)) if causes else {}
        )
        modules = sorted({cause["module"] for cause in bare.shown})
        probes = {}
        if package.environment and modules:
            where = probing.environment(package.environment, self._beside_in(package.environment))
            about = [*modules, *where.requirements]
            probes = self._once(package, "probes", about, lambda: probing.probed(where, modules))
        return self._surveyed(package, row, read, fixes, probes)

    def _surveyed(
        self, package: Package, row: dict[str, Any], read: Any, fixes: dict[str, Any], probes: dict[str, Any]
    ) -> Surveyed:
        version = self._versions[package.name]
        return Surveyed(package.name, version, row, read, self._readings["imports"], fixes, probes)

    def _release(self, package: Package) -> Release:
        root = mount.package_root(self._root(package.name), package.tops[0])
        beside = self._required(package.name) - {package.name}
        wanted = tuple(Wanted(name, self._versions[name]) for name in sorted(beside))
        return Release(root, package.tops, wanted)

    def _required(self, name: str) -> set[str]:
        """The package and all that it requires, directly and indirectly, as far as it is listed."""
        found: set[str] = set()
        waiting = {name}
        while waiting:
            one = waiting.pop()
            found.add(one)
            named = inspecting.requirements(self._root(one))
            named.update(self._packages[one].beside if one in self._packages else ())
            waiting |= (named & self._versions.keys()) - found
        return found

    def _root(self, name: str) -> Path:
        return newest.fetched(name, self._versions[name])

    def _beside_in(self, environment: str) -> dict[str, str]:
        there = [one.name for one in self.listing.packages if one.environment == environment]
        return {name: self._versions[name] for name in there}

    def _once(
        self, package: Package, what: str, about: list[str], work: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """Do a part of the work, unless its result for this release and these things is kept."""
        file = self._kept / f"{package.name}-{self._versions[package.name]}.{what}.json"
        if file.is_file() and package.name not in self._again:
            kept = json.loads(file.read_text(encoding="utf-8"))
            if kept["about"] == about:
                found: dict[str, Any] = kept["found"]
                return found
        if not self._works:
            if what == "found":
                raise UnavailableError(f"{self._versions[package.name]} was not surveyed yet")
            return {}
        done = work()
        _write(file, {"about": about, "found": done})
        return done


def _write(file: Path, content: Any) -> None:
    fresh = file.with_name(f"{file.name}.new")
    fresh.write_text(json.dumps(content, indent=1), encoding="utf-8")
    fresh.replace(file)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Survey all packages, or those named, and write the page; 1 when one of them could not be surveyed."""
    listing = listed()
    names = [package.name for package in listing.packages]
    kept = places.workshop() / "survey"
    kept.mkdir(exist_ok=True)
    parser = argparse.ArgumentParser(prog="./dev survey", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*names, []])
    parser.add_argument("--again", action="store_true", help="check anew what was surveyed already")
    parser.add_argument("--kept", action="store_true", help="only write the page from what is kept")
    options = parser.parse_args(arguments)
    again = frozenset(options.names or names) if options.again else frozenset()
    survey = Survey(listing, kept, again, not options.kept)
    surveyed, failed = [], 0
    try:
        survey.begin()
        for number, package in enumerate(listing.packages, 1):
            began = time.monotonic()
            try:
                one = survey.of(package)
            except UnavailableError as error:
                _say(f"error: {package.name}: {error}")
                failed += 1
                continue
            surveyed.append(one)
            seconds = time.monotonic() - began
            _say(f"{number} of {len(names)}: {one.name} {one.version}: {_summary(one)}, {seconds:.0f} s")
    except UnavailableError as error:
        _say(f"error: {error}")
        return 2
    PAGE.write_text(page.page(surveyed, str(datetime.now(UTC).date())), encoding="utf-8")
    if not failed and not options.kept:
        survey.end()
    return int(failed > 0)


def _summary(one: Surveyed) -> str:
    left = one.left_out
    unread = sum(reading is None for _, reading in left)
    for cause, reading in left:
        if reading is None:
            _say(f"  not read: {cause['path']}:{cause['line']} {cause['call']}")
    listed = len(one.own) + sum(map(len, one.imports.values()))
    return f"{one.row['modules']} modules, {listed} causes, {unread} not read"


if __name__ == "__main__":
    sys.exit(main())
