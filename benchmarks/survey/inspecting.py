"""What a check and its fixes say of one release, as plain data that is kept between runs."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from benchmarks import mount
from coldfork.checking.inspection import Inspection
from coldfork.checking.reporting import report_of
from coldfork.checking.request import CheckRequest, configured
from coldfork.checking.session import CheckSession
from coldfork.mending.mender import mend
from coldfork.mending.patch import patch
from coldfork.model.causes import Applicability, Audience, Cause, Refusal
from coldfork.model.effects import EffectKind, Verdict
from coldfork.model.findings import Finding
from published import places
from published.sources import Wanted

WAKING = (EffectKind.INITIALISES_DRIVER, EffectKind.CREATES_CONTEXT)
_REQUIRES = re.compile(r"^Requires-Dist: (.+)$", re.MULTILINE)

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Release:
    """A release as it is checked: its sources, the packages in it, and what lies beside it."""

    root: Path
    tops: tuple[str, ...]
    beside: tuple[Wanted, ...]

    @contextmanager
    def request(self) -> Iterator[CheckRequest]:
        """The check of its packages."""
        with tempfile.TemporaryDirectory(prefix="coldfork-survey-") as made:
            site = mount.build(Path(made), self.beside, places.sources())
            # Neither settings of this repository nor other packages of this environment take part.
            yield configured(tuple(self.root / top for top in self.tops), {"site-packages": (str(site),)}, {})


def requirements(root: Path) -> set[str]:
    """The packages that installing a release brings along, as its wheel says; none for an archive."""
    found: set[str] = set()
    for metadata in root.glob("*.dist-info/METADATA"):
        head = metadata.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
        for text in _REQUIRES.findall(head):
            try:
                required = Requirement(text)
            except InvalidRequirement:
                continue
            if required.marker is None or required.marker.evaluate({"extra": ""}):
                found.add(canonicalize_name(required.name))
    return found


def inspected(release: Release) -> Row:
    """Check the packages of a release with its requirements' sources beside it."""
    with release.request() as request, CheckSession(hurried=False) as session:
        seen = session.inspect(request)
        report = report_of(seen)
    first = {finding.id: finding for finding in report.findings}
    chosen = [cause for cause in report.causes if counts(cause)]
    return _row(seen, [(cause, first[cause.findings[0]]) for cause in chosen])


def counts(cause: Cause) -> bool:
    """Whether a cause wakes a device, for sure or under a condition, for whoever imports the package."""
    wakes = cause.effect in WAKING and cause.audience is Audience.LIBRARY
    return wakes and cause.verdict is not Verdict.POSSIBLE


def mended(release: Release, causes: Collection[str]) -> Row:
    """Mend these causes of a release in memory: the patch of each file, and why causes are left."""
    with release.request() as request, CheckSession(hurried=False) as session:
        done = mend(request, session.inspect, Applicability.UNSAFE, causes=frozenset(causes))
    safe = {fix.cause for fix in done.mended if fix.applicability is Applicability.SAFE}
    shown = {one.file: Path(one.file).relative_to(release.root).as_posix() for one in done.files}
    return {
        "patches": {shown[one.file]: patch([one], shown.__getitem__).decode() for one in done.files},
        "safe": sorted(safe & set(causes)),
        "left": {
            cause: why.reason if isinstance(why, Refusal) else "its fix could change what the program does"
            for cause, why in done.left.items()
            if cause in causes
        },
    }


def _row(seen: Inspection, causes: list[tuple[Cause, Finding]]) -> Row:
    modules = {one.name for one in seen.observation.modules if one.audience is Audience.LIBRARY}
    ways = [
        (way.module, way.sure and cause.verdict is Verdict.CERTAIN)
        for cause, _ in causes
        for way in cause.ways
    ]
    return {
        "modules": len(modules),
        "warm": len({module for module, _ in ways} & modules),
        "surely": len({module for module, sure in ways if sure} & modules),
        "causes": [_cause(cause, finding) for cause, finding in causes],
    }


def _cause(cause: Cause, finding: Finding) -> Row:
    return {
        "id": cause.id,
        "path": cause.path,
        "line": cause.line,
        "call": cause.call,
        "text": finding.text,
        "accelerator": cause.accelerator,
        "effect": str(cause.effect),
        "verdict": cause.verdict.value,
        "condition": cause.condition,
        "presumed": list(finding.presumed),
        "chain": [[step.path, step.line, step.symbol] for step in finding.chain.steps],
        "module": finding.module,
        "warms": [way.module for way in cause.ways],
    }
