"""Compares what coldfork found with where a case's culprit stands: pure functions, no files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.caselist import Case, Culprit, Place
from benchmarks.tool import RANK, WAKING, Finding

#: Gives the lines of a file, None when there is no such file.
Lines = Callable[[str], Sequence[str] | None]


@dataclass(frozen=True, slots=True)
class Found:
    """How a culprit was seen in the buggy version."""

    culprit: Culprit
    at_line: str | None
    """The surest verdict among the findings that stand at one of its places."""
    in_chain: str | None
    """The surest verdict among the findings whose chain leads through one of its places."""

    @property
    def verdict(self) -> str | None:
        """The surest verdict either way, None when it was missed."""
        return surest([verdict for verdict in (self.at_line, self.in_chain) if verdict is not None])


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that one case showed."""

    case: Case
    found: tuple[Found, ...]
    fixed_at_place: str | None
    """The surest verdict of waking findings at the corresponding place of the fixed version."""
    fixed_totals: tuple[int, int] | None
    """Certain and conditional findings in the whole of the fixed version."""

    @property
    def missed(self) -> tuple[Culprit, ...]:
        """Culprits that nothing points at."""
        return tuple(found.culprit for found in self.found if found.verdict is None)

    @property
    def certain(self) -> bool:
        """Whether every culprit is certain."""
        return all(found.verdict == "certain" for found in self.found)

    @property
    def false_alarm(self) -> bool:
        """Whether the fixed version is still called certain where the bug was."""
        return self.fixed_at_place == "certain" and not self.case.fix_is_warm

    @property
    def failures(self) -> tuple[str, ...]:
        """Which promises the case breaks."""
        broken = [f"missed {' or '.join(map(str, culprit.places))}" for culprit in self.missed]
        if not self.missed and not self.certain and self.case.guarded is None:
            broken.append("nothing guards it, yet it is not certain")
        if self.false_alarm:
            broken.append("still certain in the fixed version")
        return tuple(broken)


def seen(culprit: Culprit, findings: Sequence[Finding]) -> Found:
    """How a culprit is seen among the findings of the buggy version."""
    at_line = [finding["verdict"] for finding in findings if stands_at(finding, culprit.places)]
    in_chain = [finding["verdict"] for finding in findings if leads_through(finding, culprit.places)]
    return Found(culprit, surest(at_line), surest(in_chain))


def stands_at(finding: Finding, places: Sequence[Place]) -> bool:
    """Whether a finding's own line lies in one of the places."""
    return any(place.holds(finding["path"], finding["line"]) for place in places)


def leads_through(finding: Finding, places: Sequence[Place]) -> bool:
    """Whether a step of a finding's chain lies in one of the places."""
    return any(place.holds(step["path"], step["line"]) for step in finding["chain"] for place in places)


def surest(verdicts: Sequence[str]) -> str | None:
    """The surest of some verdicts."""
    return max(verdicts, key=RANK.__getitem__, default=None)


def corresponding(culprit: Culprit, before: Lines, after: Lines) -> tuple[Place, ...]:
    """Where a culprit's statement stands in the fixed version: as the table says, else where its text is."""
    if culprit.fixed_places:
        return culprit.fixed_places
    found: list[Place] = []
    for place in culprit.places:
        old, new = before(place.path), after(place.path)
        if old is None or new is None:
            continue
        texts = {line.strip() for line in old[place.first - 1 : place.last] if _telling(line)}
        found.extend(
            Place(place.path, number, number) for number, line in enumerate(new, 1) if line.strip() in texts
        )
    return tuple(found)


def _telling(line: str) -> bool:
    """Whether a line says enough to be recognised elsewhere: a call or an import, no mere bracket."""
    text = line.strip()
    return text.startswith(("import ", "from ")) or ("(" in text.rstrip("(") and not text.startswith("#"))


def still_there(case: Case, findings: Sequence[Finding], before: Lines, after: Lines) -> str | None:
    """The surest verdict on the fixed version at the places that correspond to the culprits."""
    verdicts: list[str] = []
    for culprit in case.culprits:
        places = corresponding(culprit, before, after)
        verdicts.extend(
            finding["verdict"]
            for finding in findings
            if finding["effect"] in WAKING - culprit.remains
            and (stands_at(finding, places) or leads_through(finding, places))
        )
    return surest(verdicts)
