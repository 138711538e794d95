"""The list of rules, which load on demand, and how they judge an observation.

Each finding gets an id by which it is recognised again after lines have moved, and those that a comment
`# coldfork: ignore[rule] reason` covers are kept apart.
"""

from __future__ import annotations

import importlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Protocol, cast

from coldfork.model.errors import UsageError
from coldfork.model.findings import Finding, Severity
from coldfork.model.observations import IgnoreComment, Observation
from coldfork.rules.findings.case import Case

UNUSED_IGNORE = "unused-ignore"

#: Every rule, in the order in which a newcomer should meet them.
NAMES = (
    "device-init-at-import",
    "driver-init-at-import",
    "waking-import",
    "eager-reexport",
    "device-query-at-import",
    "capture-reuses-warmup-state",
    "lazy-init-in-captured-region",
    "sync-in-captured-region",
    "capture-before-warmup",
    UNUSED_IGNORE,
    "unreadable-source",
)


class Rule(Protocol):
    """What each rule's module holds; its docstring is the rule's page."""

    NAME: str
    """Kebab-case; it reads after "allow ..."."""
    SEVERITY: Severity
    """How loudly the rule speaks at most."""

    def judge(self, case: Case) -> Iterator[Finding]:
        """Yield findings, still without ids."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the rules said, and what ignore comments held back of it."""

    findings: tuple[Finding, ...]
    ignored: tuple[Finding, ...]


def rule(name: str) -> Rule:
    """Import one rule."""
    if name not in NAMES:
        raise UsageError(unknown((name,)))
    return cast(Rule, importlib.import_module(f"coldfork.rules.{name.replace('-', '_')}"))


def selection(only: Iterable[str] = (), without: Iterable[str] = ()) -> tuple[str, ...]:
    """The names to run, in the registry's order; an unknown one is refused with the near match."""
    wanted, unwanted = set(only), set(without)
    if strangers := (wanted | unwanted) - set(NAMES):
        raise UsageError(unknown(sorted(strangers)))
    return tuple(name for name in NAMES if (not wanted or name in wanted) and name not in unwanted)


def judge(
    observation: Observation, names: Sequence[str] = NAMES, remedies: Mapping[str, str] | None = None
) -> tuple[Finding, ...]:
    """Run the named rules and return what no ignore comment holds back, sorted by place."""
    return judge_all(observation, names, remedies).findings


def judge_all(
    observation: Observation, names: Sequence[str] = NAMES, remedies: Mapping[str, str] | None = None
) -> Judgement:
    """Run the named rules; the ignored findings are kept apart, not dropped."""
    case = Case(observation, remedies or {})
    judged = identify(
        finding
        for name in NAMES
        if name in names and name != UNUSED_IGNORE
        for finding in rule(name).judge(case)
    )
    judgement, leftovers = _sorted_out(judged, observation.ignores)
    if UNUSED_IGNORE not in names or not leftovers:
        return judgement
    idle = replace(case, idle_ignores=_reportable(leftovers, names))
    complaints = identify(rule(UNUSED_IGNORE).judge(idle))
    return replace(judgement, findings=tuple(sorted(judgement.findings + complaints, key=_place)))


def near_match(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that was probably meant."""
    import difflib

    return next(iter(difflib.get_close_matches(name, list(candidates), n=1, cutoff=0.5)), None)


def _reportable(leftovers: Iterable[IgnoreComment], names: Sequence[str]) -> tuple[IgnoreComment, ...]:
    """Drop what this run cannot know: a rule that did not run may still need its comment."""
    unasked = frozenset(NAMES) - frozenset(names)
    reportable = []
    for comment in leftovers:
        if UNUSED_IGNORE in comment.rules:
            continue
        if not comment.rules:
            reportable += [] if unasked else [comment]
        elif idle := tuple(name for name in comment.rules if name not in unasked):
            reportable.append(replace(comment, rules=idle))
    return tuple(reportable)


def unknown(names: Iterable[str]) -> str:
    """That there are no rules of these names, each with the near match."""
    matches = ((name, near_match(name, NAMES)) for name in names)
    return "; ".join(
        f"there is no rule {name!r}; "
        + (f"did you mean {match}?" if match else "`coldfork rule` lists them all")
        for name, match in matches
    )


def identify(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Give each finding its id and sort them by place; equal ones differ by their order."""
    seen: Counter[str] = Counter()
    named = []
    for finding in sorted(findings, key=_place):
        essence = _essence(finding)
        named.append(replace(finding, id=_digest(essence, seen[essence])))
        seen[essence] += 1
    return tuple(named)


def _place(finding: Finding) -> tuple[str, int, int, str]:
    """The order in which findings are listed."""
    return finding.path, finding.line, finding.column, finding.rule


def _essence(finding: Finding) -> str:
    # No line and no column; blanks of the source text are folded, so that re-indenting changes nothing.
    site = " ".join(finding.text.split())
    return "\0".join((finding.rule, finding.module, *finding.chain.symbols, site))


def _digest(essence: str, ordinal: int) -> str:
    material = f"{essence}\0{ordinal}".encode(errors="surrogatepass")
    return blake2b(material, digest_size=10).hexdigest()


def _sorted_out(
    findings: Iterable[Finding], comments: Sequence[IgnoreComment]
) -> tuple[Judgement, tuple[IgnoreComment, ...]]:
    """The findings by whether a comment covers them, and the comments reduced to what suppressed nothing."""
    by_path = defaultdict(list)
    for comment in comments:
        by_path[comment.path].append(comment)
    kept: list[Finding] = []
    ignored: list[Finding] = []
    used: set[tuple[IgnoreComment, str]] = set()
    for finding in findings:
        covering = [comment for comment in by_path.get(finding.path, ()) if covers(comment, finding)]
        used.update((comment, finding.rule) for comment in covering)
        (ignored if covering else kept).append(finding)
    leftovers = tuple(left for comment in comments if (left := _leftover(comment, used)) is not None)
    return Judgement(tuple(kept), tuple(ignored)), leftovers


def covers(comment: IgnoreComment, finding: Finding) -> bool:
    """Whether the comment stands on the finding's statement and names its rule, or names none: all rules."""
    first, last = comment.covers
    on_it = comment.path == finding.path and first <= finding.line <= last
    return on_it and (not comment.rules or finding.rule in comment.rules)


def _leftover(comment: IgnoreComment, used: set[tuple[IgnoreComment, str]]) -> IgnoreComment | None:
    if not comment.rules:
        return None if any(user == comment for user, _ in used) else comment
    idle = tuple(dict.fromkeys(rule for rule in comment.rules if (comment, rule) not in used))
    return replace(comment, rules=idle) if idle else None
