"""The page of one recording, put together from its sections."""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.timelines import Recording
from coldfork.report.recordings.familiar_paths import for_people
from coldfork.report.recordings.page.icicle import icicle, icicle_data
from coldfork.report.recordings.page.markup import Markup, element, join
from coldfork.report.recordings.page.processes import process_table
from coldfork.report.recordings.page.shell import masthead, page
from coldfork.report.recordings.page.symbols import patterns
from coldfork.report.recordings.page.timeline import timeline
from coldfork.report.recordings.page.verdict import verdict_card
from coldfork.report.recordings.summary import phrases
from coldfork.report.recordings.summary.outcomes import outcome
from coldfork.report.recordings.view import View
from coldfork.report.shared.quantities import duration


def render(recording: Recording, view: View) -> str:
    """Write the recording as one HTML file."""
    recording, view = for_people(recording, view)
    summed_up = outcome(recording)
    body = join(
        (
            patterns(),
            masthead("recording of", _command(recording)),
            element(
                "main",
                verdict_card(summed_up, view),
                timeline(recording),
                icicle(recording),
                process_table(recording),
                join(_troubles(recording)),
                _about(recording, view),
            ),
        )
    )
    title = f"{summed_up.standing.value}: {_command(recording)} - coldfork"
    return page(title, body, icicle_data(recording, summed_up))


def _command(recording: Recording) -> str:
    return " ".join(recording.command) or recording.name


def _troubles(recording: Recording) -> Iterator[Markup]:
    if recording.troubles:
        items = join(
            element("li", f"{phrases.moment(trouble.at)}: {trouble.what} {trouble.detail}".rstrip())
            for trouble in recording.troubles
        )
        yield element(
            "section",
            element("h2", "Where the watcher failed"),
            element("p", "This is coldfork's own fault, never the program's."),
            element("ul", items),
            class_="card",
        )


def _about(recording: Recording, view: View) -> Markup:
    facts = {
        "file": recording.name,
        "recorded": recording.started,
        "by": recording.tool,
        "Python": recording.python,
        "platform": recording.platform,
        "device": recording.device,
        "folder": recording.cwd,
        "time covered": duration(recording.end),
        "page made by": f"coldfork {view.version}".strip(),
        **{f"${name}": value for name, value in recording.environment.items()},
    }
    rows = join(join((element("dt", name), element("dd", value))) for name, value in facts.items() if value)
    return element("section", element("h2", "About this recording"), element("dl", rows), class_="card about")
