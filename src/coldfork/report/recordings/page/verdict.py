"""The verdict card: what happened, who did it, who suffers, and what to type next."""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.timelines import Process
from coldfork.report.recordings.page.markup import Markup, element, join
from coldfork.report.recordings.page.symbols import standing_sign
from coldfork.report.recordings.summary import phrases
from coldfork.report.recordings.summary.chains import ChainStep, steps
from coldfork.report.recordings.summary.outcomes import Outcome
from coldfork.report.recordings.view import View
from coldfork.report.shared.wakers import inside

_MOST_NAMED = 12


def verdict_card(summed_up: Outcome, view: View) -> Markup:
    """The card at the top of the page."""
    standing = summed_up.standing.value
    return element(
        "section",
        element("p", standing_sign(summed_up.standing), " ", element("strong", standing), class_="standing"),
        element("h1", summed_up.headline),
        join(_waker(summed_up, view)),
        join(_facts(summed_up)),
        join(_doubts(summed_up)),
        join(_next(summed_up)),
        class_=f"verdict is-{standing}",
        aria_label="Verdict",
    )


def _waker(summed_up: Outcome, view: View) -> Iterator[Markup]:
    wake, process = summed_up.wake, summed_up.wake_process
    if wake is None or process is None or wake.waker is None:
        return
    waker = wake.waker
    function = inside(waker.function)
    where = f" in {function}" if function else ""
    where += " (which line was not recorded)" if waker.path is not None and waker.line is None else ""
    yield element(
        "p",
        "Woken by ",
        element("code", phrases.place(waker.path, waker.line), class_="place"),
        where,
        f", {phrases.moment(wake.at)} in process {phrases.pid(process)}, thread {waker.thread}",
        class_="site",
    )
    taken = steps(waker)
    if not any((step.path, step.line) == (waker.path, waker.line) for step in taken):
        source = _source(waker.path, waker.line, view)
        if source:
            yield element("pre", element("code", source), class_="source")
    items = [_step(step, view) for step in taken]
    if items:
        yield element("ol", join(items), class_="chain", aria_label="From the first import to the device")


def _step(step: ChainStep, view: View) -> Markup:
    source = _source(step.path, step.line, view)
    return element(
        "li",
        f"{step.verb} ".lstrip(),
        element("code", step.symbol),
        join((" ", element("code", step.place, class_="place"))) if step.place else None,
        element("code", source, class_="source") if source else None,
    )


def _source(path: str | None, line: int | None, view: View) -> str:
    return view.source(path, line) if path is not None and line is not None else ""


def _facts(summed_up: Outcome) -> Iterator[Markup]:
    items = []
    if summed_up.poisoned:
        names = join((_link(process) for process in summed_up.poisoned[:_MOST_NAMED]), ", ")
        more = len(summed_up.poisoned) - _MOST_NAMED
        tail = f" and {more} more" if more > 0 else ""
        items.append(element("li", "forked while it was awake, and so poisoned: ", names, tail))
    if summed_up.escaped:
        names = join((_link(process) for process in summed_up.escaped[:_MOST_NAMED]), ", ")
        items.append(element("li", "forked too, but then executed another program, which clears it: ", names))
    items += [element("li", note) for note in summed_up.notes]
    if items:
        yield element("ul", join(items), class_="facts")


def _link(process: Process) -> Markup:
    return element("a", phrases.pid(process), href=f"#process-{process.number}")


def _doubts(summed_up: Outcome) -> Iterator[Markup]:
    if summed_up.doubts:
        items = join(element("li", doubt) for doubt in summed_up.doubts)
        yield element("div", element("p", "Not everything was seen:"), element("ul", items), class_="doubts")


def _next(summed_up: Outcome) -> Iterator[Markup]:
    if summed_up.next_command:
        command = element("code", summed_up.next_command)
        yield element("p", "Next: ", command, f" {summed_up.next_reason}", class_="next")
