"""The output for people: each finding with its chain, why it matters, how sure it is, what to do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from coldfork.model.chains import Chain, Step
from coldfork.model.findings import Finding, Report, Skipped
from coldfork.report.findings.words import (
    confirmation_counts,
    confirmation_sentence,
    examined,
    held_back,
    help_sentence,
    verdict_counts,
    verdict_sentence,
)
from coldfork.report.shared.effects import effect_phrase
from coldfork.report.shared.options import Options
from coldfork.report.shared.quantities import plural
from coldfork.report.shared.sheets import Sheet, column, row

_MOST_SKIPPED = 5
_INDENT = " " * 6


def render(report: Report, options: Options) -> str:
    """Write the report as text that ends with a one-line summary."""
    return "\n".join(_Page(report, options).lines()) + "\n"


class _Page:
    """One text output being written: the report, what the stream can say, and what was said before."""

    def __init__(self, report: Report, options: Options) -> None:
        self._report = report
        self._options = options
        self._sheet = Sheet(options)
        self._folder = Folder()

    def lines(self) -> Iterator[str]:
        for finding in self._report.findings:
            yield from self._finding(finding)
            yield ""
        unreported = self._unreported()
        if unreported:
            yield from self._skipped(unreported)
            yield ""
        yield from self._summary()

    def _finding(self, finding: Finding) -> Iterator[str]:
        clean = self._sheet.letters.clean
        label = self._sheet.paint(finding.severity.value, f"{finding.severity.value}[{clean(finding.rule)}]")
        yield f"{label} {self._sheet.paint('title', self._sheet.say(finding.message))}"
        yield self._site(finding)
        source = finding.text or (finding.chain.steps[0].text if finding.chain.steps else "")
        if source.strip():
            letters = self._sheet.letters
            yield _INDENT + letters.cut(letters.first_line(source), self._sheet.room(len(_INDENT)))
        yield from self._chain(finding)
        for sentence in self._notes(finding):
            yield f"   = {sentence}"

    def _site(self, finding: Finding) -> str:
        clean = self._sheet.letters.clean
        place = self._sheet.paint("place", self._place(finding.path, finding.line))
        remarks = [clean(finding.where)] if finding.where else []
        if finding.test:
            remarks.append("test code")
        return f"  {self._sheet.paint('quiet', '-->')} {place}" + (
            f"  {', '.join(remarks)}" if remarks else ""
        )

    def _place(self, path: str, line: int | None) -> str:
        where = self._sheet.letters.clean(self._options.locate(path))
        return where if line is None else f"{where}:{line}"

    def _notes(self, finding: Finding) -> Iterator[str]:
        clean = self._sheet.letters.clean
        yield from self._sentence(finding.consequence)
        yield from self._sentence(verdict_sentence(finding, self._report.profile))
        yield from self._sentence(confirmation_sentence(finding))
        if finding.fix:
            yield f"fix: {self._sheet.say(finding.fix)}"
        yield f"{self._sheet.paint('help', 'help:')} {clean(help_sentence(finding))}"

    def _sentence(self, sentence: str) -> Iterator[str]:
        if sentence:
            yield self._sheet.say(sentence)

    def _chain(self, finding: Finding) -> Iterator[str]:
        lines = self._folder.fold(finding.chain, self._place(finding.path, finding.line))
        width = self._symbol_column([line.step for line in lines if isinstance(line, ShownStep)])
        last = len(finding.chain.steps) - 1
        for line in lines:
            if isinstance(line, Gap):
                yield self._gap(line)
                continue
            effect = effect_phrase(finding.effect, finding.accelerator) if line.number == last else ""
            yield self._step(line, width, effect)

    def _symbol_column(self, steps: list[Step]) -> int:
        # A step without a place, usually the sink, may stick out: nothing has to line up with it.
        return column(self._sheet.letters.clean(step.symbol) for step in steps if step.path is not None)

    def _step(self, shown: ShownStep, width: int, effect: str) -> str:
        clean = self._sheet.letters.clean
        place = ""
        if shown.step.path is not None:
            place = self._sheet.paint("place", self._place(shown.step.path, shown.step.line).strip())
        behind = "   ".join(part for part in (place, clean(effect)) if part)
        return row(shown.number, clean(shown.step.symbol), width, behind)

    def _gap(self, gap: Gap) -> str:
        dots = self._sheet.letters.ellipsis
        if gap.shown_at is None:
            words = f"{plural(gap.count, 'step')} left out; --format json has them all"
        else:
            words = f"{plural(gap.count, 'step')} as above, from {gap.shown_at}"
        return _INDENT + self._sheet.paint("quiet", f"{dots} {words}")

    def _unreported(self) -> tuple[Skipped, ...]:
        """The skipped files that no finding above is about."""
        reported = {finding.path for finding in self._report.findings if finding.effect is None}
        return tuple(file for file in self._report.skipped if file.path not in reported)

    def _skipped(self, skipped: tuple[Skipped, ...]) -> Iterator[str]:
        count = plural(len(skipped), "file")
        them = "it" if len(skipped) == 1 else "them"
        yield f"{count} could not be read, so nothing is known about what importing {them} does:"
        for file in skipped[:_MOST_SKIPPED]:
            place = self._sheet.paint("place", self._place(file.path, None))
            yield f"  {place}: {self._sheet.say(file.reason)}"
        if len(skipped) > _MOST_SKIPPED:
            yield f"  and {len(skipped) - _MOST_SKIPPED} more; --format json lists them all"

    def _summary(self) -> Iterator[str]:
        report = self._report
        skipped = (f"{len(report.skipped)} not read",) if report.skipped else ()
        behind = "".join(f"; {phrase}" for phrase in (*skipped, *held_back(report)))
        if not report.findings:
            yield self._clean_result() + behind
        else:
            style = "error" if report.failing else "title"
            head = self._sheet.paint(style, plural(len(report.findings), "finding"))
            counts = f"{verdict_counts(report.findings)}, {report.failing or 'none'} failing the check"
            tried = confirmation_counts(report.findings)
            counts += f"; {tried}" if tried else ""
            yield f"{head}: {counts}; {examined(report.statistics)}{behind}"
        command = _next_command(report)
        if command:
            yield f"next: {command}"

    def _clean_result(self) -> str:
        report = self._report
        if not report.statistics.modules:
            return self._sheet.paint("warning", "nothing was checked: no Python module was found")
        verdict = "no new finding" if report.known else "no finding"
        profile = self._sheet.letters.clean(report.profile)
        return f"{self._sheet.paint('clean', verdict)} on {profile}: looked at {examined(report.statistics)}"


def _next_command(report: Report) -> str:
    if report.gone:
        return "coldfork baseline prune  (drops what is gone from the baseline)"
    if report.failing:
        return "coldfork baseline write  (accepts today's findings, so that only new ones fail)"
    return ""


LONGEST = 12
"""A chain of more steps than this is shortened in the middle."""
_BEGINNING = 7
_END = 4
_SHORTEST_SHARED = 4

_Tail = tuple[tuple[str, str | None, int | None], ...]


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step that gets a line; `number` counts from 1 behind the site."""

    number: int
    step: Step


@dataclass(frozen=True, slots=True)
class Gap:
    """Steps left out: how many, and the site whose chain shows them, if one does."""

    count: int
    shown_at: str | None


class Folder:
    """Folds the chains of one report, in the order in which they are printed."""

    def __init__(self) -> None:
        self._first_shown: dict[_Tail, str] = {}

    def fold(self, chain: Chain, site: str) -> tuple[ShownStep | Gap, ...]:
        """The lines for what follows a site: its steps and the gap between them."""
        steps = chain.steps[1:]
        keys = tuple((step.symbol, step.path, step.line) for step in steps)
        shared = self._longest_shared(keys)
        shown_at = None if shared is None else self._first_shown[keys[shared:]]
        left_out = _left_out(len(steps), shared)
        self._remember(keys, left_out, site)
        return tuple(_lines(steps, left_out, shared, shown_at))

    def _longest_shared(self, keys: _Tail) -> int | None:
        for start in range(len(keys) - _SHORTEST_SHARED + 1):
            if keys[start:] in self._first_shown:
                return start
        return None

    def _remember(self, keys: _Tail, left_out: range, site: str) -> None:
        # Only ends that this finding spells out may be pointed at.
        for start in range(left_out.stop, len(keys) - _SHORTEST_SHARED + 1):
            self._first_shown.setdefault(keys[start:], site)


def _left_out(length: int, shared: int | None) -> range:
    """The steps that get no line, always in one run."""
    if shared is not None:
        return range(min(shared + 1, _BEGINNING), length - 1)
    if length > LONGEST:
        return range(_BEGINNING, length - _END)
    return range(0)


def _lines(
    steps: tuple[Step, ...], left_out: range, shared: int | None, shown_at: str | None
) -> Iterator[ShownStep | Gap]:
    for index, step in enumerate(steps):
        if index not in left_out:
            yield ShownStep(index + 1, step)
        elif index == left_out.start:
            wholly_shared = shared is not None and left_out.start > shared
            yield Gap(len(left_out), shown_at if wholly_shared else None)
