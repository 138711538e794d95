"""The table of processes, which says the same as the timeline, but in words; equal processes share a row."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from coldfork.model.states import Status
from coldfork.model.timelines import How, Process, Recording, Stretch
from coldfork.report.recordings.assembly.import_trees import walk
from coldfork.report.recordings.page.markup import Markup, element, join
from coldfork.report.recordings.page.symbols import swatch
from coldfork.report.recordings.summary import phrases
from coldfork.report.recordings.summary.alike import Family, Row
from coldfork.report.shared.quantities import duration

_HEADS = ("process", "how it began", "command", "from", "to", "end", "states at its end", "imports")
_HEADS_OF_EQUALS = ("process", "from", "to", "imports")
_LONGEST_COMMAND = 120


def process_table(recording: Recording, family: Family) -> Markup:
    """Return the section with the table."""
    rows = join(part for row in family.rows() for part in _rows(row, recording, family))
    caption = element("caption", "Every process in the recording; a child stands below its parent.")
    table = element("table", caption, _head(_HEADS), element("tbody", rows))
    scroll = element(
        "div", table, class_="scroll", tabindex=0, role="region", aria_label="Table of the processes"
    )
    return element("section", element("h2", "Processes"), scroll, class_="card")


def _rows(row: Row, recording: Recording, family: Family) -> Iterator[Markup]:
    if not row.is_folded:
        yield _row(row, recording, family)
        return
    yield element("tr", _cells(row, recording, family), class_="equals")
    each = family.each(row)
    if len(each) > len(row.members):
        # Equal processes with descendants get full rows, because their descendants differ.
        head, rows = _head(_HEADS), join(_row(one, recording, family) for one in each)
    else:
        head, rows = _head(_HEADS_OF_EQUALS), join(_short_row(member) for member in row.members)
    opened = element(
        "details",
        element("summary", f"Show each of the {len(row.members)} equal processes"),
        element("table", head, element("tbody", rows)),
    )
    yield element("tr", element("td", opened, colspan=len(_HEADS)), class_="each")


def _head(names: tuple[str, ...]) -> Markup:
    return element("thead", element("tr", join(element("th", name, scope="col") for name in names)))


def _row(row: Row, recording: Recording, family: Family) -> Markup:
    return element("tr", _cells(row, recording, family), id=f"process-{row.first.number}")


def _cells(row: Row, recording: Recording, family: Family) -> Markup:
    process, depth = row.first, row.depth
    indent = "\u2514 " if depth else ""
    begins, ends = (min(one.begin for one in row.members), max(one.end for one in row.members))
    return join(
        (
            element(
                "th",
                element("span", indent, class_=f"depth depth-{min(depth, 6)}") if depth else None,
                f"{len(row.members)} equal processes" if row.is_folded else phrases.pid(process),
                scope="row",
            ),
            element("td", _arrival(process, recording, family)),
            element("td", element("code", _shortened(phrases.command(process))), class_="command"),
            element("td", "first " if row.is_folded else None, duration(begins), class_="number"),
            element("td", "last " if row.is_folded else None, duration(ends), class_="number"),
            element("td", phrases.ending(process)),
            element("td", join(_state(stretch) for stretch in process.last_states.values())),
            element("td", _imports(row), class_="number"),
        )
    )


def _short_row(process: Process) -> Markup:
    cells = (
        element("th", phrases.pid(process), scope="row"),
        element("td", duration(process.begin), class_="number"),
        element("td", duration(process.end), class_="number"),
        element("td", _imports(Row((process,), 0)), class_="number"),
    )
    return element("tr", join(cells), id=f"process-{process.number}")


def _imports(row: Row) -> str:
    outermost = tuple(chain.from_iterable(process.imports for process in row.members))
    count = sum(1 for _ in walk(outermost))
    return f"{count} in {duration(sum(span.seconds for span in outermost))}" if count else "none"


def _arrival(process: Process, recording: Recording, family: Family) -> Markup:
    if process.parent is None:
        return join([phrases.arrival(process)])
    start = family.starts.get(process.number)
    if start is not None and start.how is not How.EXEC:
        place = element("code", phrases.frame_place(start.site), class_="place")
        return join([f"{phrases.arrival(process)} by ", place])
    parent = recording.processes[process.parent]
    return join([f"{phrases.arrival(process)}, child of {phrases.pid(parent)}"])


def _state(stretch: Stretch) -> Markup:
    if stretch.status is Status.ABSENT:
        return join([])
    sign = swatch(stretch.status)
    return element(
        "span", sign, f" {stretch.accelerator} {phrases.state(stretch)}", class_="chip", title=stretch.reason
    )


def _shortened(command: str) -> str:
    return command if len(command) <= _LONGEST_COMMAND else command[: _LONGEST_COMMAND - 1] + "\u2026"
