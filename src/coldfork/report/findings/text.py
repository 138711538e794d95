"""The text output: each cause with its chain, the consequence, the woken modules and the remedy."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from coldfork.report.findings.closing import closing_sentences
from coldfork.report.findings.selection import Selection
from coldfork.report.findings.words import (
    confirmation_counts,
    examined,
    fault_sentence,
    held_back,
    is_shown,
    verdict_counts,
)
from coldfork.report.shared.quantities import plural
from coldfork.report.shared.sheets import Sheet
from coldfork.report.shared.wrapping import whole

if TYPE_CHECKING:
    from coldfork.model.causes import Cause
    from coldfork.model.findings import Report, Skipped
    from coldfork.model.observations import Unfinished
    from coldfork.report.findings.entries import Entries
    from coldfork.report.shared.options import Options

_MOST_SKIPPED = 5
_HANG = 4
"""The indent at which a closing line is continued."""


def render(report: Report, options: Options) -> str:
    """Write the report as text that ends with a one-line summary."""
    text = "\n".join(_Page(report, options).lines())
    return f"{text}\n" if text else ""


class _Page:
    """The text output being written: the report, and the capabilities of the output stream."""

    def __init__(self, report: Report, options: Options) -> None:
        self._report = report
        self._options = options
        self._sheet = Sheet(options)
        self._selection = Selection(report, options)

    @cached_property
    def _entries(self) -> Entries:
        from coldfork.report.findings.entries import Entries  # most checks find nothing

        return Entries(self._report, self._options, self._sheet, self._selection)

    def lines(self) -> Iterator[str]:
        for first, *alike in self._families():
            if first.accepted:
                for finding in self._selection.entries(first):
                    yield from self._entries.new_way(first, finding)
                    yield ""
                continue
            yield from self._entries.cause(first, alike)
            yield ""
        unreported = self._unreported()
        if unreported:
            yield from self._skipped(unreported)
            yield ""
        if self._report.unfinished:
            yield from self._unfinished(self._report.unfinished)
            yield ""
        if not self._options.quiet:
            yield from self._summary()

    def _families(self) -> list[list[Cause]]:
        """Return the causes in groups whose members differ only in place."""
        families: dict[tuple[object, ...], list[Cause]] = {}
        for cause in self._selection.listed():
            families.setdefault(self._sameness(cause), []).append(cause)
        return list(families.values())

    def _sameness(self, cause: Cause) -> tuple[object, ...]:
        finding = self._selection.first(cause)
        if (
            cause.accepted
            or is_shown(self._report.fixes.get(cause.id))
            or len(finding.chain.steps) != 2
            or (len(cause.findings) > 1 and self._selection.others(cause))
        ):
            return (cause.id,)
        said = (finding.severity, finding.rule, finding.consequence, finding.presumed, finding.test)
        tried = (finding.confirmed, finding.confirmation)
        return cause.audience, cause.call, cause.verdict, cause.condition, cause.remedy, said, tried

    def _unreported(self) -> tuple[Skipped, ...]:
        """Return the skipped files that no listed finding mentions."""
        reported = {finding.path for finding in self._report.findings if finding.effect is None}
        return tuple(file for file in self._report.skipped if file.path not in reported)

    def _skipped(self, skipped: tuple[Skipped, ...]) -> Iterator[str]:
        count = plural(len(skipped), "file")
        them = "it" if len(skipped) == 1 else "them"
        yield from self._sheet.flow(
            f"{count} could not be read, so it is unknown what importing {them} does:", _HANG
        )
        for file in skipped[:_MOST_SKIPPED]:
            place = self._sheet.paint("place", self._entries.place(file.path, None))
            yield from self._sheet.flow(f"  {place}: {self._sheet.say(file.reason)}", 2 + _HANG)
        if len(skipped) > _MOST_SKIPPED:
            yield f"  and {len(skipped) - _MOST_SKIPPED} more; --format json lists them all"

    def _unfinished(self, unfinished: tuple[Unfinished, ...]) -> Iterator[str]:
        """Yield coldfork's own failures, then the modules whose analysis is incomplete."""
        faults = [one for one in unfinished if one.fault]
        for one in faults[:_MOST_SKIPPED]:
            place = self._entries.place(one.path, one.line or None) if one.path else ""
            yield from self._sheet.flow(self._sheet.say(fault_sentence(one, place)), _HANG)
        if len(faults) > _MOST_SKIPPED:
            count = plural(len(faults) - _MOST_SKIPPED, "more place")
            yield f"and at {count}; --format json lists them all"
        yield from self._too_long([one for one in unfinished if not one.fault])

    def _too_long(self, unfinished: list[Unfinished]) -> Iterator[str]:
        """Yield the checked modules whose analysis ran out of budget, and the number of further ones."""
        own = [one for one in unfinished if one.own]
        for one in own[:_MOST_SKIPPED]:
            place = self._sheet.paint("place", self._entries.place(one.path, one.line))
            which = f"{self._sheet.say(one.module)} takes too long to follow to its end"
            yield from self._sheet.flow(
                f"{which}, so findings may be missing; the budget ended at {place}", _HANG
            )
        more, further = max(0, len(own) - _MOST_SKIPPED), len(unfinished) - len(own)
        rest = [plural(more, "more checked module")] if more else []
        rest += [f"{plural(further, 'module')} of dependencies"] if further else []
        if rest:
            verb = "takes" if more + further == 1 else "take"
            long = f"{verb} too long, too" if own else f"{verb} too long to follow to the end"
            yield from self._sheet.flow(f"{' and '.join(rest)} {long}; --format json lists them", _HANG)

    def _summary(self) -> Iterator[str]:
        for line in self._closing_lines():
            yield from self._sheet.flow(line, _HANG)

    def _closing_lines(self) -> Iterator[str]:
        report = self._report
        yield from filter(None, (self._selection.limit_line(), self._selection.fold_line()))
        skipped = (f"{len(report.skipped)} not read",) if report.skipped else ()
        behind = "".join(f"; {phrase}" for phrase in (*skipped, *held_back(report)))
        shown = self._selection.shown
        if not shown:
            yield self._clean_result() + behind
            if lines := report.coverage.unfollowed:
                call = "calls" if lines == 1 else "call"
                yield f"not followed: {plural(lines, 'line')} that {call} something unknown"
            if files := report.coverage.unparsed:
                where = f"functions that nothing calls, in {plural(files, 'file')}"
                yield f"not parsed: {where}; --fail-on unknown reads them all"
        else:
            style = "error" if report.failing else "title"
            head = self._sheet.paint(style, plural(len(shown), "cause"))
            counts = f"{verdict_counts(shown)}, {report.failing or 'none'} failing the check"
            tried = confirmation_counts(self._selection.first(cause) for cause in shown)
            counts += f"; {tried}" if tried else ""
            yield f"{head}: {counts}; {examined(report.statistics)}{behind}"
        yield from map(self._sheet.say, closing_sentences(report))
        if report.proof is not None:
            from coldfork.report.proof import proof_details

            yield from map(self._sheet.say, proof_details(report.proof))
        command = self._next_command()
        if command:
            yield f"{whole(self._sheet.letters.clean(f'next: {command[0]}'))}  ({command[1]})"

    def _clean_result(self) -> str:
        report = self._report
        if not report.statistics.modules:
            return self._sheet.paint("warning", "nothing was checked: no Python module was found")
        verdict = "no new finding" if report.known else "no finding"
        if self._selection.folded:
            verdict = f"{verdict} elsewhere"
        profiles = self._sheet.letters.clean(" and ".join(report.profiles))
        return f"{self._sheet.paint('clean', verdict)} on {profiles}: looked at {examined(report.statistics)}"

    def _next_command(self) -> tuple[str, str] | None:
        """Return a command that the user can type next, and its purpose."""
        if self._report.gone:
            return "coldfork baseline prune", "drops from the baseline what is no longer found"
        if not self._report.failing:
            return None
        failing = filter(self._options.fails, self._report.causes)
        rules = [self._selection.first(cause).rule for cause in failing]
        if rules and (self._report.fixes or self._options.unmended.issuperset(rules)):
            return f"coldfork rule {rules[0]}", "says what it means and what to write instead"
        return shlex.join((*self._options.command, "--fix")), "mends what it can"
