"""The HTML page that compares two recordings: both verdicts, and tables of the differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from coldfork.model.timelines import Recording
from coldfork.report.recordings.difference.comparison import Difference, difference, roots
from coldfork.report.recordings.difference.text import module_words, wake_words
from coldfork.report.recordings.familiar_paths import for_people
from coldfork.report.recordings.page.markup import Markup, element, join, masthead, page
from coldfork.report.recordings.page.symbols import patterns, standing_sign
from coldfork.report.recordings.summary.outcomes import Outcome
from coldfork.report.shared.options import Options
from coldfork.report.shared.quantities import duration, plural

_MAIN = "the program"
"""The importer of a module that no other module imports."""
_MOST_TIMES = 100


def render(before: Recording, after: Recording, options: Options) -> str:
    """Write the difference as one HTML file."""
    before, after = (for_people(recording, options)[0] for recording in (before, after))
    found = difference(before, after)
    cards = element(
        "div",
        _card("before", before, found.before),
        _card("after", after, found.after),
        class_="side-by-side",
    )
    sections = (_wakes(found), _starts(found), _states(found), _imports(found), _times(found))
    nothing = element("p", "Nothing but times differs.") if found.same else None
    main = element("main", cards, nothing, join(part for section in sections for part in section))
    head = masthead("difference of two recordings", f"{before.name} and {after.name}")
    return page(f"{before.name} and {after.name} - coldfork", join((patterns(), head, main)))


def _card(label: str, recording: Recording, summed_up: Outcome) -> Markup:
    standing = summed_up.standing.value
    return element(
        "section",
        element("p", f"{label}: ", element("code", recording.name), class_="quiet"),
        element("p", standing_sign(summed_up.standing), " ", element("strong", standing), class_="standing"),
        element("h1", summed_up.headline),
        element("p", f"{recording.started} {' '.join(recording.command)}".strip(), class_="quiet"),
        element("ul", join(element("li", doubt) for doubt in summed_up.doubts), class_="doubts")
        if summed_up.doubts
        else None,
        class_=f"verdict is-{standing}",
        aria_label=f"Verdict {label}",
    )


def _wakes(found: Difference) -> Iterator[Markup]:
    rows = [("gone", wake_words(wake)) for wake in found.wakes_gone]
    rows += [("new", wake_words(wake)) for wake in found.wakes_new]
    yield from _section("Wakes", ("", "wake"), rows)


def _starts(found: Difference) -> Iterator[Markup]:
    rows = [(one.what, str(one.before), str(one.after)) for one in found.starts]
    yield from _section("Forks and other starts", ("what", "before", "after"), rows)


def _states(found: Difference) -> Iterator[Markup]:
    rows = [(one.processes, one.before, one.after) for one in found.states]
    yield from _section("States at the end", ("processes", "before", "after"), rows)


def _imports(found: Difference) -> Iterator[Markup]:
    rows = [("gone", module_words(one, along)) for one, along in roots(found.imports_gone)]
    rows += [("new", module_words(one, along)) for one, along in roots(found.imports_new)]
    rows += [
        ("moved", f"{new.module}: imported by {old.importer or _MAIN}, now by {new.importer or _MAIN}")
        for old, new in found.importers
    ]
    modules = f"{found.modules[0]} modules before, {found.modules[1]} after"
    times = f"{duration(found.seconds[0])} before, {duration(found.seconds[1])} after"
    yield from _section("Imports", ("", "module"), rows, f"{modules}; {times} in the first process.")


def _times(found: Difference) -> Iterator[Markup]:
    rows = []
    for change in found.times[:_MOST_TIMES]:
        sign = "+" if change.seconds > 0 else "\u2212"
        times = (duration(change.before), duration(change.after))
        rows.append((change.module, *times, sign + duration(abs(change.seconds))))
    left = len(found.times) - _MOST_TIMES
    note = f"{plural(left, 'smaller change')} left out; --format json has them all." if left > 0 else ""
    yield from _section("Own import times", ("module", "before", "after", "change"), rows, note)


def _section(
    title: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]], note: str = ""
) -> Iterator[Markup]:
    body = join(element("tr", join(element("td", cell) for cell in row)) for row in rows)
    if not body and not note:
        return
    head = element("tr", join(element("th", name or "change", scope="col") for name in heads))
    table = element("table", element("thead", head), element("tbody", body)) if body else None
    scroll = (
        element("div", table, class_="scroll", tabindex=0, role="region", aria_label=title) if table else None
    )
    quiet = element("p", note, class_="quiet") if note else None
    yield element("section", element("h2", title), quiet, scroll, class_="card")
