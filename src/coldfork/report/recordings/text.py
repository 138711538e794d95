"""A recording as text: the verdict, the process tree, and the slowest imports."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from coldfork.model.states import Status
from coldfork.model.timelines import How, Import, Process, Recording, Stretch
from coldfork.report.recordings.assembly.import_trees import walk
from coldfork.report.recordings.familiar_paths import for_people
from coldfork.report.recordings.summary import phrases
from coldfork.report.recordings.summary.alike import fate, starts
from coldfork.report.recordings.summary.import_effects import Mark, Marks, marks
from coldfork.report.recordings.summary.outcomes import Outcome, Standing, outcome
from coldfork.report.shared.effects import inside
from coldfork.report.shared.options import Options, Source
from coldfork.report.shared.quantities import duration, plural
from coldfork.report.shared.sheets import Sheet, column, row
from coldfork.report.shared.wrapping import fitted

#: At most this many siblings with equal descriptions are shown; the rest are only counted.
_MOST_ALIKE = 3

_STATE_STYLES = {
    Status.AWAKE: "warning",
    Status.POISONED: "error",
    Status.UNKNOWN: "note",
    Status.COLD: "clean",
    Status.ABSENT: "quiet",
}


def process_lines(recording: Recording, summed_up: Outcome, sheet: Sheet) -> Iterator[str]:
    """Yield each process with its beginning, its end, and all its states other than absent."""
    if not recording.processes:
        return
    yield sheet.paint("title", "processes")
    tree = _Tree(recording, sheet)
    for root in tree.children[None]:
        yield from tree.lines(root)


#: A process or a finished line of text, the prefix of its first line, and the prefix of its other lines.
_Entry = tuple[Process | str, str, str]


class _Tree:
    def __init__(self, recording: Recording, sheet: Sheet) -> None:
        self._starts = starts(recording)
        self._sheet = sheet
        self.children: defaultdict[int | None, list[Process]] = defaultdict(list)
        for process in recording.processes:
            self.children[process.parent].append(process)

    def lines(self, root: Process) -> Iterator[str]:
        """Yield the lines of a process and of all its descendants."""
        # A loop rather than recursion, because a chain of processes may be ten thousand deep.
        waiting: list[_Entry] = [(root, "  ", "  ")]
        while waiting:
            item, head, rest = waiting.pop()
            if isinstance(item, Process):
                yield from self._described(item, head, rest)
                waiting.extend(reversed(list(self._below(item, rest))))
            else:
                yield f"{head}{item}"

    def _described(self, process: Process, head: str, rest: str) -> Iterator[str]:
        sheet = self._sheet
        name = sheet.paint("title", phrases.pid(process))
        life = f"{duration(process.begin)} to {duration(process.end)}, {phrases.ending(process)}"
        command = "" if process.how is How.FORK else f": {phrases.command(process)}"
        line = sheet.cut(self._arrival(process) + command, len(rest) + len(phrases.pid(process)) + 1)
        yield f"{head}{name} {line}"
        trunk = f"{rest}{sheet.trunk if self.children[process.number] else '   '}"
        yield f"{trunk}{sheet.paint('quiet', life)}"
        for stretch in _worth_showing(process):
            style = _STATE_STYLES[stretch.status]
            state = sheet.paint(style, f"{sheet.say(stretch.accelerator)} {phrases.state(stretch)}")
            since = f" from {duration(stretch.begin)}" if stretch.begin > process.begin else ""
            yield f"{trunk}{state}{since}"

    def _arrival(self, process: Process) -> str:
        arrival = phrases.arrival(process)
        if process.parent is None:
            return arrival
        if process.how is How.EXEC:
            return f"{arrival} {phrases.moment(process.begin)}"
        going = self._starts.get(process.number)
        if going is not None and going.how is not How.EXEC:
            return f"{arrival} {phrases.moment(going.at)} by {phrases.frame_place(going.site)}"
        return f"{arrival} {phrases.moment(process.begin)}"

    def _below(self, process: Process, rest: str) -> Iterator[_Entry]:
        sheet = self._sheet
        shown, left_out = self._folded(self.children[process.number])
        for index, child in enumerate(shown):
            last = index == len(shown) - 1 and not left_out
            branch = sheet.last if last else sheet.branch
            yield child, rest + branch, rest + ("   " if last else sheet.trunk)
        if left_out:
            words = f"{left_out} more like these; --format json has them all"
            yield sheet.paint("quiet", f"{sheet.letters.ellipsis} {words}"), rest + sheet.last, ""

    def _folded(self, children: list[Process]) -> tuple[list[Process], int]:
        """Return the children to show, and the number of the rest; children with children are always
        shown.
        """
        met: Counter[object] = Counter()
        shown = []
        for child in children:
            kind = fate(child, self._starts.get(child.number))
            met[kind] += 1
            if met[kind] <= _MOST_ALIKE or self.children[child.number]:
                shown.append(child)
        return shown, len(children) - len(shown)


def _worth_showing(process: Process) -> list[Stretch]:
    """Return the notable states: absent is never notable, and cold only as the last state."""
    last = process.last_states
    return [
        stretch
        for stretch in process.stretches
        if stretch.status is not Status.ABSENT
        and (stretch.status is not Status.COLD or stretch is last[stretch.accelerator])
    ]


_STYLES = {
    Standing.COLD: "clean",
    Standing.WOKEN: "error",
    Standing.POISONED: "error",
    Standing.UNKNOWN: "warning",
}
_MOST_CHAIN = 14


def render(recording: Recording, options: Options) -> str:
    """Write the recording as text."""
    recording, options = for_people(recording, options)
    sheet = Sheet(options)
    summed_up = outcome(recording)
    parts = (
        _verdict(summed_up, sheet, options.source),
        _origin(recording, sheet),
        process_lines(recording, summed_up, sheet),
        import_lines(recording, summed_up, sheet),
        _next(summed_up, sheet),
    )
    texts = ("\n".join(fitted(part, options.width)) for part in parts)
    return "\n\n".join(text for text in texts if text) + "\n"


def verdict(recording: Recording, options: Options) -> str:
    """Write only the verdict: which devices were woken, by which lines, and which processes are poisoned."""
    recording, options = for_people(recording, options)
    lines = _verdict(outcome(recording), Sheet(options), options.source)
    return "\n".join(fitted(lines, options.width)) + "\n"


def _verdict(summed_up: Outcome, sheet: Sheet, source: Source) -> Iterator[str]:
    label = sheet.paint(_STYLES[summed_up.standing], f"{summed_up.standing.value}:")
    yield f"{label} {sheet.paint('title', sheet.say(summed_up.headline))}"
    yield from _waker(summed_up, sheet, source)
    yield from _poisoned(summed_up, sheet)
    for note in summed_up.notes:
        yield f"   = {sheet.say(note)}"
    for doubt in summed_up.doubts:
        yield f"   {sheet.paint('warning', '!')} {sheet.say(doubt)}"


def _waker(summed_up: Outcome, sheet: Sheet, source: Source) -> Iterator[str]:
    wake, process = summed_up.wake, summed_up.wake_process
    if wake is None or process is None or wake.waker is None:
        return
    waker = wake.waker
    function = inside(waker.function)
    where = f"  in {sheet.say(function)}" if function else ""
    where += "  (which line was not recorded)" if waker.path is not None and waker.line is None else ""
    place = sheet.paint("place", sheet.say(phrases.place(waker.path, waker.line)))
    yield f"  {sheet.paint('quiet', '-->')} {place}{where}"
    text = source(waker.path, waker.line) if waker.path is not None and waker.line is not None else ""
    if text:
        yield f"      {sheet.cut(text, 6)}"
    yield from _chain(summed_up, sheet)
    when = f"{phrases.moment(wake.at)} in process {phrases.pid(process)}, thread {sheet.say(waker.thread)}"
    yield f"   = {sheet.say(phrases.waking(wake))} {when}"


def _chain(summed_up: Outcome, sheet: Sheet) -> Iterator[str]:
    """Yield the imports that were in progress at the wake, then the calls from the module's line to the
    device.
    """
    waker = summed_up.wake.waker if summed_up.wake else None
    if waker is None:
        return
    taken = [(f"{step.verb} {step.symbol}".strip(), step.place) for step in phrases.steps(waker)]
    width = column((sheet.say(symbol) for symbol, place in taken if place), narrowest=0)
    for number, (symbol, place) in _shortened(taken):
        if number is None:
            yield f"      {sheet.paint('quiet', symbol)}"
            continue
        yield row(number, sheet.say(symbol), width, sheet.paint("place", sheet.say(place)))


_Step = tuple[str, str]


def _shortened(taken: list[_Step]) -> list[tuple[int | None, _Step]]:
    numbered: list[tuple[int | None, _Step]] = list(enumerate(taken, 1))
    if len(numbered) <= _MOST_CHAIN:
        return numbered
    half = _MOST_CHAIN // 2
    gap = f"{len(taken) - 2 * half} steps left out; --format json has them all"
    return [*numbered[:half], (None, (gap, "")), *numbered[-half:]]


def _poisoned(summed_up: Outcome, sheet: Sheet) -> Iterator[str]:
    if summed_up.poisoned:
        yield f"   = forked while it was awake, and so poisoned: {phrases.names(summed_up.poisoned)}"
    if summed_up.escaped:
        names = phrases.names(summed_up.escaped)
        yield f"   = forked too, but then executed another program, which clears it: {names}"


def _origin(recording: Recording, sheet: Sheet) -> Iterator[str]:
    device = f", on {recording.device}" if recording.device else ""
    facts = [part for part in (recording.started, recording.python and f"Python {recording.python}") if part]
    command = " ".join(recording.command) or "a program whose command was not recorded"
    yield sheet.cut(f"recorded: {command}")
    behind = "; ".join(facts) + device
    if behind:
        yield f"          {sheet.cut(behind, 10)}"


def _next(summed_up: Outcome, sheet: Sheet) -> Iterator[str]:
    if summed_up.next_command:
        command = sheet.paint("help", sheet.say(summed_up.next_command))
        yield f"next: {command}  ({summed_up.next_reason})"


#: An import is shown if it took this share of its process's import time or had an effect.
_SHARE = 0.02
_MOST_LINES = 40
_MOST_LINES_OF_OTHERS = 8
_MOST_PROCESSES = 3


def import_lines(recording: Recording, summed_up: Outcome, sheet: Sheet) -> Iterator[str]:
    """Yield the imports of the most important processes: the first one that woke, then the busiest."""
    importing = [process for process in recording.processes if process.imports]
    importing.sort(key=lambda one: (one is not summed_up.wake_process, -total(one.imports), one.number))
    for index, process in enumerate(importing[:_MOST_PROCESSES]):
        yield from _of_process(process, _MOST_LINES_OF_OTHERS if index else _MOST_LINES, sheet)
    left = len(importing) - _MOST_PROCESSES
    if left > 0:
        more = f"{sheet.letters.ellipsis} {phrases.processes(left)} more imported something"
        yield sheet.paint("quiet", f"{more}; --format html shows them all")


def total(imports: Iterable[Import]) -> float:
    """Return the total time of these imports, including the imports below them."""
    return sum(span.seconds for span in imports)


def _of_process(process: Process, most: int, sheet: Sheet) -> Iterator[str]:
    whole = total(process.imports)
    count = sum(1 for _ in walk(process.imports))
    title = sheet.paint("title", f"imports of {phrases.pid(process)}")
    yield f"{title}: {plural(count, 'module')}, {duration(whole)}"
    marked = marks(process)
    keep = _chosen(process, marked, whole, most)
    drawn = list(_drawn(process.imports, marked, keep, sheet))
    yield from drawn
    left = count - len(drawn)
    if left:
        words = f"{sheet.letters.ellipsis} {plural(left, 'module')} left out; --format html shows them all"
        yield f"  {sheet.paint('quiet', words)}"


def _chosen(process: Process, marked: Marks, whole: float, most: int) -> set[int]:
    """Return the imports to show: those with effects, their parents, and the slowest of the rest."""
    parents: dict[int, Import] = {}
    every = []
    for span, _ in walk(process.imports):
        every.append(span)
        parents.update((id(child), span) for child in span.children)
    chosen: set[int] = set()
    marked_spans = [span for span in every if marked.of(span)]
    slow = sorted((span for span in every if span.seconds >= whole * _SHARE), key=lambda span: -span.seconds)
    for span in [*marked_spans[:most], *slow]:
        if len(chosen) >= most and not marked.of(span):
            break
        here: Import | None = span
        while here is not None and id(here) not in chosen:
            chosen.add(id(here))
            here = parents.get(id(here))
    return chosen


def _drawn(roots: Iterable[Import], marked: Marks, keep: set[int], sheet: Sheet) -> Iterator[str]:
    waiting = [(span, "", "") for span in reversed([root for root in roots if id(root) in keep])]
    while waiting:
        span, head, rest = waiting.pop()
        yield _line(span, head, marked, sheet)
        below = [child for child in span.children if id(child) in keep]
        drawn = []
        for index, child in enumerate(below):
            last = index == len(below) - 1
            branch, trunk = (sheet.last, "   ") if last else (sheet.branch, sheet.trunk)
            drawn.append((child, rest + branch, rest + trunk))
        waiting.extend(reversed(drawn))


def _line(span: Import, head: str, marked: Marks, sheet: Sheet) -> str:
    name = sheet.say(span.module) or "?"
    behind = "".join(f"  {_mark(mark, sheet)}" for mark in marked.of(span))
    if not span.finished:
        behind += f"  {sheet.paint('warning', 'not finished')}"
    return f"  {duration(span.seconds):>9}  {head}{name}{behind}"


def _mark(mark: Mark, sheet: Sheet) -> str:
    return sheet.paint("error" if mark.wakes else "note", sheet.say(mark.text))
