"""Sentences that several formats of `coldfork check` share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from coldfork.model.findings import Confirmed, Finding, Report
from coldfork.model.terms.grades import Applicability, Verdict
from coldfork.report.shared.characters import one_line
from coldfork.report.shared.quantities import duration, plural

if TYPE_CHECKING:
    from coldfork.model.causes import Cause, Edit, Fix, Refusal
    from coldfork.model.effects import Chain
    from coldfork.model.observations import Statistics, Unfinished

_MOST_PRESUMED = 3
_MOST_SYMBOLS = 12

_CONFIRMATIONS = {
    Confirmed.WOKEN: ("confirmed", "a fresh interpreter that imported the module woke the device"),
    Confirmed.COLD: ("not confirmed", "a fresh interpreter that imported the module stayed cold"),
    Confirmed.NOT_TESTABLE: ("not testable", "what importing the module did could not be judged"),
}


def fault_sentence(unfinished: Unfinished, place: str = "") -> str:
    """Return a sentence about a failure of coldfork itself: where it happened, its consequence, and what to
    report.
    """
    at = f"at {place}" if place else f"in {unfinished.module}" if unfinished.module else ""
    function = one_line(unfinished.function)
    inside = f" (in {function})" if place and function != unfinished.module else ""
    where = f"{at}{inside}" or "in a part of this check"
    return (
        f"coldfork itself failed {where}, so findings may be missing; please report it: "
        f"{one_line(unfinished.fault)}"
    )


def fix_sentence(fix: Fix | Refusal) -> str:
    """Return how coldfork can mend the cause, or why it cannot."""
    from coldfork.model.causes import Refusal

    if isinstance(fix, Refusal):
        return f"fix: none, because {one_line(fix.reason)}"
    if fix.applicability is Applicability.UNSAFE:
        return f"fix: --fix=unsafe writes one; it may change what the program does: {one_line(fix.reason)}"
    if fix.applicability is Applicability.SHOWN:
        return f"fix: by hand, from what is shown: {one_line(fix.reason)}"
    return "fix: --fix writes it"


def is_shown(fix: Fix | Refusal | None) -> bool:
    """Return whether people have to make the edits of a fix, because coldfork cannot apply them."""
    return getattr(fix, "applicability", None) is Applicability.SHOWN  # a refusal has none


def edit_sentence(edit: Edit, place: str) -> str:
    """Return where an edit applies; the caller prints the new text below it, unless the edit only deletes."""
    is_inserted = (edit.line, edit.column) == (edit.end_line, edit.end_column)
    if is_inserted:
        return f"before {place}:{edit.column}, write:"
    last = f" to {edit.end_line}:{edit.end_column}" if edit.end_line > edit.line else f" to {edit.end_column}"
    where = f"{place}:{edit.column}{last}"
    return f"in place of {where}, write:" if edit.text else f"take out {where}"


def verdict_sentence(finding: Finding, profile: str) -> str:
    """Return how sure the finding is, and under which condition; empty if it concerns no device."""
    if finding.effect is None and finding.accelerator is None:
        return ""
    sentence = f"{finding.verdict.value} on {profile}"
    condition = one_line(finding.condition or "")
    if finding.verdict is Verdict.POSSIBLE:
        sentence += ": only through a dynamic call that could not be narrowed down"
        if condition:
            sentence += f", and only when `{condition}`"
    elif condition:
        sentence += f": only when `{condition}`"
    if finding.presumed:
        sentence += ", presuming that " + _joined(finding.presumed)
    return sentence


def confirmation_sentence(finding: Finding) -> str:
    """Return what a real import has shown, or why it has shown nothing; empty if none was tried."""
    if finding.confirmed is None:
        return ""
    head, usual = _CONFIRMATIONS[Confirmed(finding.confirmed)]
    return f"{head}: {finding.confirmation or usual}"


def confirmation_counts(findings: Iterable[Finding]) -> str:
    """Return `3 confirmed, 1 not testable`; empty if no import was tried."""
    counts = Counter(finding.confirmed for finding in findings)
    return ", ".join(f"{counts[name]} {head}" for name, (head, _) in _CONFIRMATIONS.items() if counts[name])


def help_sentence(finding: Finding, remedy: str) -> str:
    """Return the remedy, and the command that the user should type next."""
    command = f"read more: coldfork rule {finding.rule}"
    remedy = one_line(remedy).rstrip(".")
    return f"{remedy}; {command}" if remedy else command


def chain_sentence(chain: Chain) -> str:
    """Return the symbols of a chain as one line, shortened in the middle; empty for a single step."""
    symbols = chain.symbols
    if len(symbols) < 2:
        return ""
    if len(symbols) > _MOST_SYMBOLS:
        left_out = len(symbols) - _MOST_SYMBOLS
        symbols = (*symbols[: _MOST_SYMBOLS - 4], f"({left_out} more)", *symbols[-4:])
    return " -> ".join(symbols)


def verdict_counts(causes: Iterable[Cause]) -> str:
    """Return `3 certain, 1 possible`: the surest verdict first, omitting those that did not occur."""
    counts = Counter(cause.verdict for cause in causes)
    surest_first = sorted(counts, key=lambda verdict: -verdict.rank)
    return ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in surest_first)


def examined(statistics: Statistics) -> str:
    """Return `945 modules (120 yours) in 1.2 s`: how much was analysed, and how quickly."""
    modules = plural(statistics.modules, "module")
    if statistics.own_modules and statistics.own_modules != statistics.modules:
        modules += f" ({statistics.own_modules} yours)"
    return f"{modules} in {duration(statistics.seconds)}"


def held_back(report: Report) -> tuple[str, ...]:
    """Return phrases about how many findings the baseline and ignore comments hide."""
    held = (
        (report.known, "known to the baseline"),
        (report.ignored, "ignored by comment"),
        (report.gone, "in the baseline and gone"),
    )
    return tuple(f"{count} {why}" for count, why in held if count)


def _joined(presumed: tuple[str, ...]) -> str:
    phrases = [one_line(presumption) for presumption in presumed[:_MOST_PRESUMED]]
    if len(presumed) > _MOST_PRESUMED:
        return ", ".join(phrases) + f" and {len(presumed) - _MOST_PRESUMED} more (--format json lists them)"
    return " and that ".join(phrases)
