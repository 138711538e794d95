"""What took the time to import, as a tree in the terminal; what woke something is always in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from coldfork.model.timelines import Import, Process, Recording
from coldfork.report.recordings.assembly.import_trees import walk
from coldfork.report.recordings.summary import phrases
from coldfork.report.recordings.summary.import_effects import Mark, Marks, marks
from coldfork.report.recordings.summary.outcomes import Outcome
from coldfork.report.shared.quantities import duration, plural
from coldfork.report.shared.sheets import Sheet

#: An import is shown when it took this part of its process's import time, or did something.
_SHARE = 0.02
_MOST_LINES = 40
_MOST_LINES_OF_OTHERS = 8
_MOST_PROCESSES = 3


def import_lines(recording: Recording, summed_up: Outcome, sheet: Sheet) -> Iterator[str]:
    """The imports of the processes that matter most: the one that was woken first, then the busiest."""
    importing = [process for process in recording.processes if process.imports]
    importing.sort(key=lambda one: (one is not summed_up.wake_process, -total(one.imports), one.number))
    for index, process in enumerate(importing[:_MOST_PROCESSES]):
        yield from _of_process(process, _MOST_LINES_OF_OTHERS if index else _MOST_LINES, sheet)
    left = len(importing) - _MOST_PROCESSES
    if left > 0:
        more = f"{sheet.letters.ellipsis} {phrases.processes(left)} more imported something"
        yield sheet.paint("quiet", f"{more}; --format html shows them all")


def total(imports: Iterable[Import]) -> float:
    """The time these imports took, with all they caused."""
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
    """What to show: the marked ones and their parents, then the slowest until the lines are used up."""
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
