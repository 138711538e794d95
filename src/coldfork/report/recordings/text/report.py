"""A recording in the terminal: the verdict, the processes as a tree, and what took the time to import."""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.timelines import Recording
from coldfork.report.recordings.familiar_paths import for_people
from coldfork.report.recordings.summary import phrases
from coldfork.report.recordings.summary.chains import steps
from coldfork.report.recordings.summary.outcomes import Outcome, Standing, outcome
from coldfork.report.recordings.text.imports import import_lines
from coldfork.report.recordings.text.processes import process_lines
from coldfork.report.recordings.view import Source, View
from coldfork.report.shared.sheets import Sheet
from coldfork.report.shared.tables import column, row
from coldfork.report.shared.wakers import inside

_STYLES = {
    Standing.COLD: "clean",
    Standing.WOKEN: "error",
    Standing.POISONED: "error",
    Standing.UNKNOWN: "warning",
}
_MOST_CHAIN = 14


def render(recording: Recording, view: View) -> str:
    """Write the recording as text."""
    recording, view = for_people(recording, view)
    sheet = _sheet(view)
    summed_up = outcome(recording)
    parts = (
        _verdict(summed_up, sheet, view.source),
        _origin(recording, sheet),
        process_lines(recording, summed_up, sheet),
        import_lines(recording, summed_up, sheet),
        _next(summed_up, sheet),
    )
    return "\n\n".join("\n".join(lines) for part in parts if (lines := list(part))) + "\n"


def verdict(recording: Recording, view: View) -> str:
    """Write the verdict alone: what was woken, by whom, and who was poisoned."""
    recording, view = for_people(recording, view)
    return "\n".join(_verdict(outcome(recording), _sheet(view), view.source)) + "\n"


def _sheet(view: View) -> Sheet:
    return Sheet(view.encoding, colour=view.colour, width=view.width)


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
    """The imports in progress, then the calls from the module's own line to the device."""
    waker = summed_up.wake.waker if summed_up.wake else None
    if waker is None:
        return
    taken = [(f"{step.verb} {step.symbol}".strip(), step.place) for step in steps(waker)]
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
