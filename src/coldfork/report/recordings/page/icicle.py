"""The icicle chart of imports: the data from which the script draws it, and a table for use without one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from coldfork.model.timelines import Import, Process, Recording
from coldfork.report.recordings.assembly.import_trees import walk
from coldfork.report.recordings.familiar_paths import familiar
from coldfork.report.recordings.page.markup import Markup, element, join
from coldfork.report.recordings.page.symbols import colour_of, package_of
from coldfork.report.recordings.summary import phrases
from coldfork.report.recordings.summary.import_effects import Mark, Marks, marks
from coldfork.report.recordings.summary.outcomes import Outcome
from coldfork.report.shared.characters import printable
from coldfork.report.shared.quantities import duration

#: Styles of an import in the chart; the script uses the same numbers.
PLAIN, ACTS, LEADS_TO_WAKE, WAKES = 0, 1, 2, 3

_MOST_SLOW = 20
_MOST_PACKAGES = 10


def icicle(recording: Recording) -> Markup:
    """Return the section of the page that the script fills with the chart."""
    importing = [process for process in recording.processes if process.imports]
    if not importing:
        empty = element("p", "No import was recorded.", class_="quiet")
        return element("section", element("h2", "Imports"), empty, class_="card")
    own = _own_seconds(importing)
    controls = element(
        "div",
        element("label", "Process ", element("select", id="icicle-process")),
        element(
            "label",
            "Search ",
            element("input", id="icicle-search", type="search", placeholder="module or path"),
        ),
        element("button", "Whole", id="icicle-whole", type="button"),
        element("label", "Inside ", element("select", id="icicle-inside")),
        element("output", id="icicle-found", for_="icicle-search"),
        class_="controls",
    )
    drawing = element(
        "div",
        controls,
        element(
            "div",
            id="icicle",
            class_="scroll icicle",
            role="tree",
            aria_label="Imports, the outermost first; the width is the time",
        ),
        element("div", id="icicle-detail", class_="detail", aria_live="polite"),
        _legend(),
        _package_legend(own),
        element("p", _KEYS, class_="quiet"),
        id="icicle-section",
        hidden=True,
    )
    without = element(
        "p",
        "The picture of the imports needs JavaScript; ",
        element("code", "coldfork report FILE --format text"),
        " shows them without.",
        id="icicle-without",
        class_="quiet",
    )
    return element("section", element("h2", "Imports"), drawing, without, _slowest(own), class_="card")


_KEYS = (
    "Keys: arrows move (down into an import, up out of it), Enter zooms in, Escape zooms out, "
    "Home goes to the top, / searches, Enter in the search goes to the next hit."
)


def icicle_data(recording: Recording, summed_up: Outcome) -> dict[str, Any]:
    """Return the imports of all processes as numbers that refer to one list of strings."""
    # Rows refer to texts by number, so that each text is on the page only once.
    numbers: dict[str, int] = {}
    short = cache(lambda path: familiar(path, recording.cwd))
    importing = [process for process in recording.processes if process.imports]
    importing.sort(key=lambda process: (process is not summed_up.wake_process, process.number))
    processes = [
        {
            "label": f"{phrases.pid(process)} ({phrases.arrival(process)})",
            "imports": _rows(process, numbers, short),
        }
        for process in importing
    ]
    modules = {span.module for span in _every(importing)}
    packages = sorted({printable(package_of(module)) for module in modules})
    return {
        "processes": processes,
        "strings": list(map(printable, numbers)),
        "packages": [[package, colour_of(package)] for package in packages],
    }


def _rows(process: Process, numbers: dict[str, int], short: Callable[[str], str]) -> list[list[int]]:
    """Return a row for each import, outer first: name, path, depth, microseconds, start, style, effects."""

    def number(text: str) -> int:
        return numbers.setdefault(text, len(numbers))

    marked = marks(process)
    rows = []
    for span, depth in walk(process.imports):
        effects = [mark.text for mark in marked.of(span)]
        if not span.finished:
            effects.append("was in progress when the recording ended")
        rows.append(
            [
                number(span.module or "?"),
                number(short(span.path or "")),
                depth,
                round(span.seconds * 1e6),
                round(span.start * 1e6),
                _drawn_as(span, marked),
                number("; ".join(effects)),
            ]
        )
    return rows


def _drawn_as(span: Import, marked: Marks) -> int:
    own: list[Mark] = marked.of(span)
    if any(mark.wakes for mark in own):
        return WAKES
    if marked.leads_to_wake(span):
        return LEADS_TO_WAKE
    return ACTS if own or not span.finished else PLAIN


def _legend() -> Markup:
    items = (
        ("wakes", "\u25c6 wakes an accelerator"),
        ("leads", "\u25c7 leads to the import that does"),
        ("acts", "\u2022 does something else that matters, or did not finish"),
        ("plain", "does nothing to accelerators; the colour shows its package"),
    )
    signs = (element("li", element("span", class_=f"cell {name}"), f" {words}") for name, words in items)
    return element("ul", join(signs), class_="legend")


def _package_legend(own: Mapping[str, float]) -> Markup:
    """Return the colours of the packages whose own modules took the most import time."""
    packages: defaultdict[str, float] = defaultdict(float)
    for module, seconds in own.items():
        packages[printable(package_of(module))] += seconds
    items = (
        element("li", element("span", class_=f"cell package-{colour_of(package)}"), f" {package or '?'}")
        for package in sorted(packages, key=lambda name: -packages[name])[:_MOST_PACKAGES]
    )
    return element("ul", join(items), class_="legend", aria_label="Colours of the slowest packages")


def _every(importing: Iterable[Process]) -> Iterator[Import]:
    for process in importing:
        for span, _ in walk(process.imports):
            yield span


def _own_seconds(importing: Iterable[Process]) -> dict[str, float]:
    """Return each module's own import time, summed over all processes, the slowest first."""
    own: defaultdict[str, float] = defaultdict(float)
    for span in _every(importing):
        own[span.module] += span.own_seconds
    return dict(sorted(own.items(), key=lambda item: -item[1]))


def _slowest(own: Mapping[str, float]) -> Markup:
    """Return a table of the imports with the longest own times, for readers without the script."""
    slowest = list(own)[:_MOST_SLOW]
    rows = join(
        element(
            "tr",
            element("td", element("code", module or "?")),
            element("td", duration(own[module]), class_="number"),
        )
        for module in slowest
    )
    head = element("tr", element("th", "module", scope="col"), element("th", "own time", scope="col"))
    caption = element("caption", "Times exclude what the modules import, summed over all processes.")
    table = element("table", caption, element("thead", head), element("tbody", rows))
    return element("details", element("summary", "The slowest imports as a table"), table)
