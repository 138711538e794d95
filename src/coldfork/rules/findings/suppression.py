"""Applies `# coldfork: ignore[rule] reason`: what a comment suppresses, and which comments are idle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from coldfork.model.findings import Finding
from coldfork.model.observations import IgnoreComment


@dataclass(frozen=True, slots=True)
class Sorted:
    """Findings that no ignore comment covers, findings that one covers, and idle comments."""

    kept: tuple[Finding, ...]
    ignored: tuple[Finding, ...]
    leftovers: tuple[IgnoreComment, ...]
    """Comments, reduced to the rules that suppressed nothing; without rules if the comment names none."""


def sort_out(findings: Iterable[Finding], comments: Sequence[IgnoreComment]) -> Sorted:
    """Separate the findings that an ignore comment covers from the others."""
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
    return Sorted(tuple(kept), tuple(ignored), leftovers)


def covers(comment: IgnoreComment, finding: Finding) -> bool:
    """Return whether the comment is on the finding's statement, and names its rule or no rule at all."""
    first, last = comment.covers
    on_it = comment.path == finding.path and first <= finding.line <= last
    return on_it and (not comment.rules or finding.rule in comment.rules)


def _leftover(comment: IgnoreComment, used: set[tuple[IgnoreComment, str]]) -> IgnoreComment | None:
    if not comment.rules:
        return None if any(user == comment for user, _ in used) else comment
    idle = tuple(dict.fromkeys(rule for rule in comment.rules if (comment, rule) not in used))
    return replace(comment, rules=idle) if idle else None
