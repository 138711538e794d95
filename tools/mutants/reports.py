"""The results of a run, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict

from mutants.trials import Outcome, Verdict


def score(verdicts: Sequence[Verdict]) -> float | None:
    """The share of changes that some test noticed, in percent."""
    dead = sum(not one.survived for one in verdicts)
    return round(100 * dead / len(verdicts), 1) if verdicts else None


def as_text(verdicts: Sequence[Verdict], asked: int) -> str:
    """Each change that lived, then the counts, then the score."""
    lived = [one for one in verdicts if one.survived]
    parts = [_told(one) for one in sorted(lived, key=lambda one: one.mutant)]
    counts = {outcome: sum(one.outcome is outcome for one in verdicts) for outcome in Outcome}
    words = ", ".join(f"{count} {outcome.value}" for outcome, count in counts.items() if count)
    parts.append(f"{len(verdicts)} of {asked} changes tried: {words or 'none'}")
    if verdicts:
        parts.append(f"score: {score(verdicts)} of 100")
    return "\n".join(parts) + "\n"


def _told(verdict: Verdict) -> str:
    mutant = verdict.mutant
    where = f" in {mutant.owner}" if mutant.owner else ""
    if verdict.outcome is Outcome.NOT_RUN:
        tests = "no test that was recorded runs this line"
    elif verdict.ran < verdict.touching:
        some = f"{verdict.ran} of the {verdict.touching} tests that run this line passed"
        tests = f"{some}; raise --budget for the others"
    else:
        tests = f"all {verdict.touching} tests that run this line passed"
    return (
        f"{mutant.path}:{mutant.line}: {verdict.outcome.value} ({mutant.operator}){where}\n"
        f"  - {_shown(mutant.before)}\n  + {_shown(mutant.after)}\n  = {tests}\n"
    )


def _shown(text: str) -> str:
    text = " ".join(text.split())
    return f"{text[:97]}..." if len(text) > 100 else text or "(nothing)"


def as_json(verdicts: Sequence[Verdict], asked: int) -> str:
    """Everything, change by change."""
    counts = {outcome.value: sum(one.outcome is outcome for one in verdicts) for outcome in Outcome}
    mutants = [asdict(one) for one in sorted(verdicts, key=lambda one: one.mutant)]
    whole = {"asked": asked, "tried": len(verdicts), **counts, "score": score(verdicts), "mutants": mutants}
    return json.dumps(whole, indent=2) + "\n"


FORMATS: dict[str, Callable[[Sequence[Verdict], int], str]] = {"text": as_text, "json": as_json}
