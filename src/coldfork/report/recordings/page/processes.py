"""The table of processes: everything the timeline shows, in words."""

from __future__ import annotations

from coldfork.model.states import Status
from coldfork.model.timelines import How, Process, Recording, Stretch
from coldfork.report.recordings.assembly.import_trees import walk
from coldfork.report.recordings.page.markup import Markup, element, join
from coldfork.report.recordings.page.symbols import swatch
from coldfork.report.recordings.page.timeline import in_tree_order
from coldfork.report.recordings.summary import phrases
from coldfork.report.shared.quantities import duration

_HEADS = ("process", "how it began", "command", "from", "to", "end", "states at its end", "imports")
_LONGEST_COMMAND = 120


def process_table(recording: Recording) -> Markup:
    """The section with the table."""
    head = element("tr", join(element("th", name, scope="col") for name in _HEADS))
    rows = join(_row(process, depth, recording) for process, depth in in_tree_order(recording.processes))
    table = element(
        "table",
        element("caption", "Every process in the recording; a child stands below its parent."),
        element("thead", head),
        element("tbody", rows),
    )
    scroll = element(
        "div", table, class_="scroll", tabindex=0, role="region", aria_label="Table of the processes"
    )
    return element("section", element("h2", "Processes"), scroll, class_="card")


def _row(process: Process, depth: int, recording: Recording) -> Markup:
    count = sum(1 for _ in walk(process.imports))
    seconds = sum(span.seconds for span in process.imports)
    indent = "\u2514 " if depth else ""
    cells = (
        element(
            "th",
            element("span", indent, class_=f"depth depth-{min(depth, 6)}") if depth else None,
            phrases.pid(process),
            scope="row",
        ),
        element("td", _arrival(process, recording)),
        element("td", element("code", _shortened(phrases.command(process))), class_="command"),
        element("td", duration(process.begin), class_="number"),
        element("td", duration(process.end), class_="number"),
        element("td", phrases.ending(process)),
        element("td", join(_state(stretch) for stretch in process.last_states.values())),
        element("td", f"{count} in {duration(seconds)}" if count else "none", class_="number"),
    )
    return element("tr", join(cells), id=f"process-{process.number}")


def _arrival(process: Process, recording: Recording) -> Markup:
    if process.parent is None:
        return join([phrases.arrival(process)])
    parent = recording.processes[process.parent]
    for going in parent.departures:
        if going.child == process.number and going.how is not How.EXEC:
            place = element("code", phrases.frame_place(going.site), class_="place")
            return join([f"{phrases.arrival(process)} by ", place])
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
