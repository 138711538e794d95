"""Entries of the text output: each is a cause with chain, consequence, woken modules and remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from coldfork.model.causes import Cause, Fix
from coldfork.model.effects import Chain, Step
from coldfork.model.findings import Finding, Report
from coldfork.report.findings.chains import Folder, Gap, ShownStep
from coldfork.report.findings.selection import Selection
from coldfork.report.findings.warmth_words import (
    named_ways,
    short_warmth,
    spared_sentence,
    warmth_sentence,
    way_in,
)
from coldfork.report.findings.words import (
    confirmation_sentence,
    edit_sentence,
    fix_sentence,
    help_sentence,
    is_shown,
    verdict_sentence,
)
from coldfork.report.shared.effects import effect_phrase
from coldfork.report.shared.options import Options
from coldfork.report.shared.quantities import plural
from coldfork.report.shared.sheets import Sheet, column, row
from coldfork.report.shared.wrapping import whole

_INDENT = " " * 6
_MOST_LINES = 3
_MOST_ROWS = 6
"""If there are more similar causes than this, several share a line."""
_HANG = 5
"""A note is continued below its first word."""
_FURTHER = len(_INDENT) + 2
"""A line that is already indented, or that has code below it, is continued with more indentation."""


class Entries:
    """Writes the entries of one text output and remembers which chains it has already shown."""

    def __init__(self, report: Report, options: Options, sheet: Sheet, selection: Selection) -> None:
        self._report = report
        self._options = options
        self._sheet = sheet
        self._selection = selection
        self._folder = Folder()
        self._said: set[str] = set()

    def cause(self, cause: Cause, alike: Sequence[Cause] = ()) -> Iterator[str]:
        """Yield the entry of a cause, and one line for each cause that differs from it only in place."""
        finding = self._selection.first(cause)
        if self._selection.only_passed_on(cause):
            yield from self._way_in(cause, finding)
        else:
            yield from self._head(finding)
        yield from self._ways(finding)
        yield from self._notes(finding)
        yield from self._then(cause, finding)
        yield from self._warmth(cause, finding)
        yield from self._help(finding, cause.remedy)
        yield from self._alike(alike)

    def new_way(self, cause: Cause, finding: Finding) -> Iterator[str]:
        """Yield the entry for a new way, which the baseline lacks, to an accepted cause."""
        yield from self._head(finding)
        place = self.place(cause.path, cause.line)
        yield from self._note(
            f"a new way to an old cause: the baseline accepts {place}, but not this way there"
        )
        yield from self._notes(finding)
        yield from self._help(finding, finding.remedy)

    def place(self, path: str, line: int | None) -> str:
        """Return a place in a form that editors can open."""
        where = self._options.locate(path) if line is None else self._options.place(path, line)
        return self._sheet.letters.clean(where)

    def _head(self, finding: Finding) -> Iterator[str]:
        yield from self._title(finding)
        yield from self._site(finding, finding.path, finding.line, finding.where, finding.caret is not None)
        yield from self._quotation(
            finding.text or (finding.chain.steps[0].text if finding.chain.steps else ""), finding.caret
        )
        ahead = finding.ahead
        effect = finding.effect if ahead is None else ahead.kind
        chain = finding.chain if ahead is None else ahead.chain
        yield from self._chain(finding, chain, effect, self.place(finding.path, finding.line))

    def _way_in(self, cause: Cause, finding: Finding) -> Iterator[str]:
        """Yield the first lines of a cause that is reached only through imports: its own line, then the
        imports.
        """
        steps = finding.chain.steps
        at = max(
            index for index, step in enumerate(steps) if (step.path, step.line) == (cause.path, cause.line)
        )
        yield from self._title(finding)
        yield from self._site(finding, cause.path, cause.line, f"in {steps[at].symbol}")
        yield from self._quotation(steps[at].text)
        outermost = Step(steps[0].kind, finding.module, finding.path, finding.line)
        way = Chain((steps[0], outermost, *steps[1:]))
        yield from self._chain(finding, way, finding.effect, self.place(cause.path, cause.line))

    def _title(self, finding: Finding) -> Iterator[str]:
        clean = self._sheet.letters.clean
        label = self._sheet.paint(finding.severity.value, f"{finding.severity.value}[{clean(finding.rule)}]")
        title = self._sheet.paint("title", self._sheet.say(finding.message))
        yield from self._sheet.flow(f"{label} {title}", len(_INDENT))

    def _site(
        self, finding: Finding, path: str, line: int, where: str, exactly: bool = False
    ) -> Iterator[str]:
        arrow = f"  {self._sheet.paint('quiet', '-->')}{whole(' ')}"
        column = f":{finding.column + 1}" if exactly else ""
        place = self._sheet.paint("place", f"{self.place(path, line)}{column}")
        remarks = [self._sheet.letters.clean(where)] if where else []
        if finding.test:
            remarks.append("test code")
        behind = f"  {', '.join(remarks)}" if remarks else ""
        yield from self._sheet.flow(f"{arrow}{place}{behind}", _FURTHER)

    def _quotation(self, source: str, caret: int | None = None) -> Iterator[str]:
        """Yield a line of code with a marker below it; it is cut at the terminal's edge, not wrapped."""
        if source.strip():
            letters = self._sheet.letters
            room = self._sheet.room(len(_INDENT))
            yield _INDENT + letters.cut(letters.first_line(source), room)
            if caret is not None and (room is None or caret < room):
                yield f"{_INDENT}{' ' * caret}^"

    def _note(self, sentence: str) -> Iterator[str]:
        return self._sheet.flow(f"   = {sentence}", _HANG)

    def _notes(self, finding: Finding) -> Iterator[str]:
        consequence = "" if finding.consequence in self._said else finding.consequence
        self._said.add(consequence)  # most causes have the same consequence, so it is printed only once
        for sentence in (
            consequence,
            verdict_sentence(finding, self._report.profile_of(finding.accelerator)),
            confirmation_sentence(finding),
        ):
            if sentence:
                yield from self._note(self._sheet.say(sentence))

    def _then(self, cause: Cause, finding: Finding) -> Iterator[str]:
        """Yield the lines that would also wake the device, after the cause, during the same call."""
        for line in cause.then:
            place = self.place(line.path, line.line)
            own = finding.ahead is not None and line.call == finding.chain.sink.symbol
            effect = effect_phrase(finding.effect, finding.accelerator) if own else "also wakes it"
            call = f"{self._sheet.letters.clean(line.call)} {effect}" if line.call else effect
            yield from self._note(f"then also {place}: {call}")

    def _help(self, finding: Finding, remedy: str) -> Iterator[str]:
        fix = self._report.fixes.get(finding.cause)
        if fix is not None:
            yield from self._note(self._sheet.say(fix_sentence(fix)))
        if isinstance(fix, Fix) and is_shown(fix):
            for edit in fix.edits:
                place = self.place(edit.path, edit.line)
                yield from self._sheet.flow(_INDENT + self._sheet.say(edit_sentence(edit, place)), _HANG)
                for line in edit.text.splitlines():
                    yield f"{_INDENT}  {self._sheet.letters.clean(line)}".rstrip()
        command = f"coldfork rule {finding.rule}"
        said = self._sheet.letters.clean(help_sentence(finding, remedy)).replace(command, whole(command))
        yield from self._note(f"{self._sheet.paint('help', 'help:')} {said}")

    # -- what it wakes ------------------------------------------------------------------------------

    def _warmth(self, cause: Cause, finding: Finding) -> Iterator[str]:
        others = self._selection.others(cause)
        if others:
            come = "comes" if len(others) == 1 else "come"
            there = self.place(cause.path, cause.line)
            yield from self._lines(f"{plural(len(others), 'more line')} {come} to {there}", others)
        earlier, later = self._selection.same_program(cause)
        if earlier:
            yield from self._lines(f"before it, {plural(len(earlier), 'line')} may already wake it", earlier)
        if later:
            would = "would wake it" if cause.warms else "would"
            yield from self._lines(f"later on, {plural(len(later), 'more line')} {would} as well", later)
        if cause.spares:
            yield from self._note(self._sheet.say(spared_sentence(cause)))
        if cause.warms < 2 and not any(way.following for way in cause.ways):
            return
        sentence = warmth_sentence(cause, finding.module)
        shortest = "" if self._options.all_ways else way_in(cause, self.place)
        yield from self._note(self._sheet.say("; ".join(filter(None, (sentence, shortest)))))
        if self._options.all_ways:
            yield from self._rows(named_ways(cause, self.place))

    def _lines(self, head: str, findings: Sequence[Finding]) -> Iterator[str]:
        places = [self.place(finding.path, finding.line) for finding in findings]
        if self._options.all_ways:
            yield from self._note(f"{head}:")
            yield from (_INDENT + place for place in places)
            return
        named = ", ".join(places[:_MOST_LINES])
        left = len(places) - _MOST_LINES
        more = f" and {left} more; --all-ways lists them" if left > 0 else ""
        yield from self._note(f"{head}: {named}{more}")

    def _alike(self, alike: Sequence[Cause]) -> Iterator[str]:
        if not alike:
            return
        same = "the same call, with the same effect" if alike[0].warms else "the same"
        head = f"{same}, at {plural(len(alike), 'more line')}"
        if len(alike) > _MOST_ROWS:
            yield from self._compactly(head, alike)
            return
        yield from self._note(f"{head}:")
        yield from self._rows([
            (self.place(cause.path, cause.line), short_warmth(cause))
            for cause in alike
        ])  # fmt: skip

    def _compactly(self, head: str, alike: Sequence[Cause]) -> Iterator[str]:
        """Yield many places in few lines: the paths' common beginning and each file are named only once."""
        lines: dict[str, list[str]] = {}
        for cause in alike:
            lines.setdefault(self.place(cause.path, None), []).append(str(cause.line))
        levels = zip(*(path.split("/")[:-1] for path in lines), strict=False)
        above = "".join(f"{names[0]}/" for names in takewhile(lambda names: len(set(names)) == 1, levels))
        places = [f"{path.removeprefix(above)}:{','.join(numbers)}" for path, numbers in lines.items()]
        clean = self._sheet.letters.clean
        yield from self._note(clean(f"{head} below {above}:") if above else f"{head}:")
        yield from self._sheet.flow(_INDENT + clean(", ".join(places)), len(_INDENT))

    def _rows(self, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
        width = column((name for name, _ in rows), most=100)
        clean = self._sheet.letters.clean
        for name, behind in rows:
            yield from self._sheet.flow(row(None, clean(name), width, clean(behind)), _FURTHER)

    # -- chains -------------------------------------------------------------------------------------

    def _chain(self, finding: Finding, chain: Chain, effect: str | None, site: str) -> Iterator[str]:
        lines = self._folder.fold(chain, site)
        width = self._symbol_column([line.step for line in lines if isinstance(line, ShownStep)])
        last = len(chain.steps) - 1
        for line in lines:
            if isinstance(line, Gap):
                yield from self._sheet.flow(self._gap(line), _FURTHER)
                continue
            done = effect_phrase(effect, finding.accelerator) if line.number == last else ""
            yield from self._sheet.flow(self._step(line, width, done), _FURTHER)

    def _ways(self, finding: Finding) -> Iterator[str]:
        """Yield a finding's other chains, such as that in the child process, each under a heading."""
        for way in finding.ways:
            yield from self._note(self._sheet.say(f"{way.words}:"))
            width = self._symbol_column(list(way.chain.steps))
            last = len(way.chain.steps)
            for number, step in enumerate(way.chain.steps, 1):
                done = effect_phrase(way.effect, way.accelerator) if way.effect and number == last else ""
                yield from self._sheet.flow(self._step(ShownStep(number, step), width, done), _FURTHER)

    def _symbol_column(self, steps: list[Step]) -> int:
        # A step without a place may be wider than the column, because nothing is printed to the right of it.
        return column(self._sheet.letters.clean(step.symbol) for step in steps if step.path is not None)

    def _step(self, shown: ShownStep, width: int, effect: str) -> str:
        clean = self._sheet.letters.clean
        place = ""
        if shown.step.path is not None:
            place = self._sheet.paint("place", self.place(shown.step.path, shown.step.line).strip())
        behind = "   ".join(part for part in (place, clean(effect)) if part)
        return row(shown.number, clean(shown.step.symbol), width, behind)

    def _gap(self, gap: Gap) -> str:
        dots = self._sheet.letters.ellipsis
        if gap.shown_at is None:
            words = f"{plural(gap.count, 'step')} left out; --format json has them all"
        else:
            words = f"{plural(gap.count, 'step')} as above, from {gap.shown_at}"
        return _INDENT + self._sheet.paint("quiet", f"{dots} {words}")
