"""The output for coding agents: one JSON object per line, causes first, with commands to run next.

Empty fields are omitted. If a record omits something, it gives the command that shows it. Every command can
be run as it is.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from coldfork.model.causes import Applicability, Cause, Edit, Fix, Refusal
from coldfork.model.effects import Chain, Verdict
from coldfork.model.findings import Finding, Report
from coldfork.report.findings.closing import closing_sentences
from coldfork.report.findings.selection import Selection
from coldfork.report.findings.warmth_words import warmth_of
from coldfork.report.findings.words import confirmation_sentence, edit_sentence, fix_sentence, is_shown
from coldfork.report.shared.characters import one_line, well_formed
from coldfork.report.shared.effects import effect_phrase
from coldfork.report.shared.options import Options

Record = dict[str, Any]
_MOST_STEPS = 12
_TAIL = 4
_MOST_OTHERS = 5


def render(report: Report, options: Options) -> str:
    """Write one line for each cause, one for each kind of omission, and one for the whole check."""
    page = _Page(report, options)
    return "".join(json.dumps(_without_empty(record)) + "\n" for record in page.records())


def _without_empty(record: Record) -> Record:
    return {
        key: well_formed(value) if isinstance(value, str) else value
        for key, value in record.items()
        if value or value is False
    }


class _Page:
    """The output being written."""

    def __init__(self, report: Report, options: Options) -> None:
        self._report = report
        self._options = options
        self._selection = Selection(report, options)
        self._said: set[str] = set()
        self._is_mended = bool(report.fixes) or report.proof is not None

    def records(self) -> Iterator[Record]:
        """Yield all records, the causes first."""
        shown = [
            (cause, finding)
            for cause in self._selection.listed()
            for finding in self._selection.entries(cause)
        ]
        yield from (self._cause(cause, finding) for cause, finding in shown)
        yield from self._others()
        yield from self._cuts(cause for cause, _ in shown)
        yield from self._proof()
        yield self._end()

    def _cause(self, cause: Cause, finding: Finding) -> Record:
        chain = finding.chain if finding.ahead is None else finding.ahead.chain
        effect = finding.effect if finding.ahead is None else finding.ahead.kind
        place = self._options.place(finding.path, finding.line)
        origin = self._options.place(cause.path, cause.line)
        fix = self._report.fixes.get(cause.id)
        return {
            "record": "cause",
            "id": cause.id,
            "at": f"{place}:{finding.column + 1}",
            "origin": origin if origin != place else "",
            "rule": finding.rule,
            "severity": finding.severity.value,
            "fails": self._options.fails(cause),
            "says": one_line(finding.message),
            "where": finding.where,
            "code": finding.text.strip(),
            "verdict": finding.verdict.value,
            "condition": one_line(finding.condition or ""),
            "presumed": [one_line(one) for one in finding.presumed],
            "confirmation": confirmation_sentence(finding),
            "chain": list(self._steps(chain)),
            "does": effect_phrase(effect, finding.accelerator) if effect else "",
            "wakes": warmth_of(cause, finding.module),
            "audience": cause.audience.value,
            "why": self._once(finding.consequence),
            "remedy": one_line(finding.remedy if cause.accepted else cause.remedy),
            "fix": "" if fix is None else fix_sentence(fix).removeprefix("fix: "),
            "edits": list(self._edits(fix)),
            "next": self._about(finding, fix),
        }

    def _once(self, sentence: str) -> str:
        """Return the sentence, or "" if it has been printed before, because most causes share it."""
        is_new = sentence not in self._said
        self._said.add(sentence)
        return sentence if is_new else ""

    def _about(self, finding: Finding, fix: Fix | Refusal | None) -> list[str]:
        """Return the commands that explain a finding; the commands that mend are for all findings, and come
        last.
        """
        explain = shlex.join(("coldfork", "rule", finding.rule))
        trace = self._command("--trace", self._options.place(finding.path, finding.line), form="text")
        is_plain = finding.verdict is Verdict.CERTAIN and not isinstance(fix, Refusal)
        return [explain] if is_plain or finding.accelerator is None else [explain, trace]

    def _steps(self, chain: Chain) -> Iterator[str]:
        steps = chain.steps
        cut = len(steps) - _MOST_STEPS
        for number, step in enumerate(steps):
            if cut > 0 and _MOST_STEPS - _TAIL <= number < len(steps) - _TAIL:
                if number == _MOST_STEPS - _TAIL:
                    yield f"({cut} steps left out: {self._command(form='json')})"
                continue
            place = (
                ""
                if step.path is None
                else " "
                + (
                    self._options.locate(step.path)
                    if step.line is None
                    else self._options.place(step.path, step.line)
                )
            )
            yield well_formed(f"{step.symbol}{place}")

    def _edits(self, fix: Fix | Refusal | None) -> Iterator[str]:
        """Yield the edits that the author has to make, because coldfork cannot apply them."""
        edits: tuple[Edit, ...] = fix.edits if isinstance(fix, Fix) and is_shown(fix) else ()
        for edit in edits:
            said = edit_sentence(edit, self._options.place(edit.path, edit.line))
            yield well_formed(f"{said}\n{edit.text}" if edit.text else said)

    def _others(self) -> Iterator[Record]:
        """Yield a record for each file that was not read and each module whose analysis is incomplete."""
        for skipped in self._report.skipped[:_MOST_OTHERS]:
            place = self._options.locate(skipped.path)
            yield {"record": "not-read", "at": place, "says": one_line(skipped.reason)}
        for one in [one for one in self._report.unfinished if one.own or one.fault][:_MOST_OTHERS]:
            place = self._options.place(one.path, one.line or 1) if one.path else ""
            says = one.fault or "takes too long to follow to its end, so findings may be missing"
            yield {"record": "not-followed", "at": place, "module": one.module, "says": one_line(says)}

    def _cuts(self, shown: Iterable[Cause]) -> Iterator[Record]:
        """Yield a record for each kind of omission, with the command that shows what was omitted."""
        selection = self._selection
        if left := selection.left_out:
            says = f"{left} more of {len(selection.shown)} causes"
            yield {"record": "cut", "says": says, "next": [self._command("--limit", "0")]}
        if selection.folded:
            says = selection.fold_line().partition(";")[0]
            yield {"record": "cut", "says": says, "next": [self._command("--tests")]}
        wide = any(cause.warms > 1 or len(cause.findings) > 1 for cause in shown)
        if wide and not self._options.all_ways:
            says = (
                "the modules that each cause wakes and how imports get there, and more lines that lead to it"
            )
            yield {"record": "cut", "says": says, "next": [self._command("--all-ways", form="text")]}
        told = (len(self._report.skipped), sum(one.own for one in self._report.unfinished))
        if max(told) > _MOST_OTHERS or len(self._report.unfinished) > told[1]:
            says = "files that were not read, and modules that were not followed to their end"
            yield {"record": "cut", "says": says, "next": [self._command(form="json")]}

    def _proof(self) -> Iterator[Record]:
        proof = self._report.proof
        if proof is None:
            return
        from coldfork.report.proof import proof_details, proof_head

        details = [one.strip() for one in proof_details(proof)]
        yield {"record": "proof", "refuted": proof.refuted, "says": proof_head(proof), "details": details}

    def _end(self) -> Record:
        report, shown = self._report, self._selection.shown
        notes = [one for one in closing_sentences(report) if not one.startswith(("proof: ", "fixes: "))]
        return {
            "record": "end",
            "causes": len(shown),
            "failing": report.failing,
            "clean": not (shown or report.skipped or report.unfinished) and bool(report.statistics.modules),
            "profiles": list(report.profiles),
            "modules": report.statistics.modules,
            "lines_not_followed": 0 if shown else report.coverage.unfollowed,
            "files_not_parsed": 0 if shown else report.coverage.unparsed,
            "known_to_the_baseline": report.known,
            "ignored_by_comment": report.ignored,
            "notes": [well_formed(note) for note in notes],
            "next": self._to_mend() if shown else [],
        }

    def _to_mend(self) -> list[str]:
        """Return the commands that apply fixes or, after mending, those for the remaining causes."""
        again = self._command()
        if not self._is_mended:
            return [self._command("--diff", form="text"), self._command("--fix", "--prove")]
        fixes = self._report.fixes.values()
        is_bold = any(isinstance(fix, Fix) and fix.applicability is Applicability.UNSAFE for fix in fixes)
        return [self._command("--fix=unsafe", "--prove"), again] if is_bold else [again]

    def _command(self, *more: str, form: str = "agent") -> str:
        shown = () if form == "text" else ("--format", form)
        return shlex.join((*self._options.command, *more, *shown))
