"""The page of the speech notes in a real Chromium: pasted into, watched, by keys alone, in light and dark."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.examples.speech_notes_serving import LAUNCHES, MOST_BYTES, Server, alive, until
from tests.report import browser
from tests.report.browser import Browser
from tests.report.test_recording_browser import CONTRAST

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytestmark = pytest.mark.once

RAW = "so we found the line on tuesday i think we should mend it what about the tests"
WRITTEN = "So we found the line on Tuesday. I think we should mend it. What about the tests?"
HOSTILE = (
    '<script>window.stolen = 1</script> <img src=x onerror="window.stolen = 2"> </textarea> '
    "<svg onload=stolen=3> &lt;b&gt; {{ 7 * 7 }} ${stolen} javascript:stolen=4 \u202egnp.exe"
)


@pytest.fixture(scope="module", params=LAUNCHES)
def launch(request: pytest.FixtureRequest) -> str:
    """How the work is done."""
    named: str = request.param
    return named


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, launch: str) -> Iterator[Server]:
    """One server, whose engine the tests can hold."""
    started = Server(tmp_path_factory.mktemp("served"), "--launch", launch)
    yield started
    started.go()
    started.stop()
    assert "Traceback" not in started.errors()


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for all tests of this file."""
    with browser.opened(tmp_path_factory.mktemp("profile"), 1000, 900) as started:
        yield started


@pytest.fixture
def page(server: Server, chromium: Browser) -> Iterator[Browser]:
    """The page, freshly opened; at the end all that was fetched was the server's, and nothing complained."""
    server.go()
    chromium.open("about:blank")
    chromium.requests.clear()
    chromium.complaints.clear()
    chromium.open(server.address)
    until(lambda: text(chromium, "about"), "the page has introduced the server")
    yield chromium
    elsewhere = [url for url in chromium.requests if not url.startswith((server.address, "data:,", "about:"))]
    assert elsewhere == []
    assert chromium.complaints == []


def text(page: Browser, name: str) -> str:
    """Return the visible text of an element; nothing where it is hidden."""
    found = f"document.getElementById({json.dumps(name)})"
    shown: str = page.evaluate(f"{found}.offsetParent ? {found}.innerText : ''")
    return shown


def texts(page: Browser, selector: str) -> list[str]:
    found: list[str] = page.evaluate(
        f"[...document.querySelectorAll({json.dumps(selector)})].map(one => one.textContent)"
    )
    return found


def paste(page: Browser, words: str) -> None:
    """Put a text into the field as a person does."""
    page.evaluate("document.getElementById('text').focus()")
    page.evaluate("document.getElementById('text').select()")
    page.type(words)


def click(page: Browser, name: str) -> None:
    page.evaluate(f"document.getElementById({json.dumps(name)}).click()")


def state(page: Browser, wanted: str) -> None:
    until(lambda: text(page, "state") == wanted, f"the page says {wanted}")


def test_a_person_pastes_a_text_and_watches_the_note_come(page: Browser, server: Server, launch: str) -> None:
    server.hold()
    paste(page, f"hold on {RAW}")
    assert text(page, "size") == f"{len(RAW) + 8} of 20,000 bytes"
    click(page, "send")
    state(page, "running")
    until(lambda: text(page, "words") == "Punctuating passage 1 of 1.", "the page tells the passage")
    assert page.evaluate("document.getElementById('bar').position") == pytest.approx(1 / 3)
    assert text(page, "note") == ""
    server.go()
    state(page, "done")
    assert texts(page, "#paragraphs p") == [f"Hold on {WRITTEN[0].lower()}{WRITTEN[1:]}"]
    assert texts(page, "#summary li")
    told = {
        "isolated": r"It ran in a process of its own: [\d.]+ m?s, start method spawn\.",
        "pool": r"It ran in a warm worker of its own, process \d+: [\d.]+ m?s\.",
    }[launch]
    assert re.fullmatch(told, text(page, "process"))
    assert text(page, "server").startswith("Each transcript is done in ")


def test_everything_can_be_done_with_the_keyboard(page: Browser) -> None:
    reached = []
    for _ in range(3):
        page.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        if reached == ["text"]:
            page.type(RAW)
    assert reached == ["text", "send", "example"]
    page.evaluate("document.getElementById('text').focus()")
    page.press("Enter", control=True)
    state(page, "done")
    assert texts(page, "#paragraphs p") == [WRITTEN]


def test_who_comes_back_finds_the_note_again(page: Browser, server: Server) -> None:
    paste(page, RAW)
    click(page, "send")
    state(page, "done")
    address = page.evaluate("location.href")
    page.open("about:blank")
    page.open(address)
    state(page, "done")
    assert texts(page, "#paragraphs p") == [WRITTEN]


def test_the_back_button_shows_the_job_before_and_then_the_page_without_one(page: Browser) -> None:
    for words in (RAW, "and now something else"):
        paste(page, words)
        click(page, "send")
        until(lambda: texts(page, "#paragraphs p") and text(page, "state") == "done", "a note")
        until(lambda words=words: texts(page, "#paragraphs p")[0].casefold()[:6] == words[:6], "its own note")  # type: ignore[misc]
    page.evaluate("history.back()")
    until(lambda: texts(page, "#paragraphs p") == [WRITTEN], "the note before")
    page.evaluate("history.back()")
    until(lambda: text(page, "note") == "" and text(page, "job") == "", "the page as it began")
    assert page.evaluate("location.hash") == ""
    page.evaluate("history.forward()")
    until(lambda: text(page, "note") != "" and texts(page, "#paragraphs p") == [WRITTEN], "the note again")
    page.evaluate("history.forward()")
    until(lambda: texts(page, "#paragraphs p") == ["And now something else."], "the last note")


def test_an_address_that_is_typed_over_shows_its_job(page: Browser, server: Server) -> None:
    name = server.submit(RAW)
    page.evaluate(f"location.hash = {json.dumps(name)}")
    state(page, "done")
    page.evaluate("location.hash = 'nothing'")
    until(lambda: text(page, "refused") == "There is no such job any more.", "it is not there")
    assert text(page, "job") == text(page, "note") == ""
    page.complaints.clear()  # the browser notes the 404
    page.evaluate("history.back()")
    state(page, "done")
    assert text(page, "refused") == ""


def test_a_job_is_cancelled_with_the_button(page: Browser, server: Server) -> None:
    server.hold()
    paste(page, "hold on")
    click(page, "send")
    state(page, "running")
    script = server.held()
    page.evaluate("document.getElementById('cancel').focus()")
    page.press("Enter")
    state(page, "cancelled")
    until(lambda: not alive(script), "its process has ended")
    assert text(page, "words") == "It was cancelled."
    assert text(page, "cancel") == ""
    # Who works with the keyboard is not left on a button that is gone.
    assert page.evaluate("document.activeElement.id") == "text"
    server.go()
    paste(page, RAW)
    click(page, "send")
    state(page, "done")
    assert text(page, "cancel") == ""


def test_a_job_that_ended_meanwhile_is_shown_as_it_ended(page: Browser, server: Server) -> None:
    server.hold()
    paste(page, f"hold on {RAW}")
    click(page, "send")
    state(page, "running")
    page.evaluate("window.realFetch = window.fetch")
    page.evaluate(
        "window.fetch = (...words) =>"
        " new Promise((done) => { window.letGo = () => done(realFetch(...words)); })"
    )
    click(page, "cancel")
    server.go()
    state(page, "done")
    page.evaluate("window.letGo()")
    page.evaluate("window.fetch = window.realFetch")
    pressed = "document.getElementById('cancel').getAttribute('aria-disabled')"
    until(
        lambda: page.evaluate(pressed) == "false" and any("409" in one for one in page.complaints),
        "the server has answered",
    )
    page.complaints.clear()
    assert text(page, "state") == "done"
    assert text(page, "refused") == ""


def test_a_hostile_text_is_shown_and_not_obeyed(page: Browser) -> None:
    before = page.evaluate("document.querySelectorAll('*').length")
    paste(page, HOSTILE)
    click(page, "send")
    state(page, "done")
    (shown,) = texts(page, "#paragraphs p")
    assert [word.strip(".,?").casefold() for word in shown.split()] == [
        word.strip(".,?").casefold() for word in HOSTILE.split()
    ]
    assert page.evaluate("typeof window.stolen") == "undefined"
    assert page.evaluate("document.scripts.length") == 1
    assert page.evaluate("document.querySelectorAll('img, svg, iframe, b').length") == 0
    # The points and the paragraphs are all that has been added.
    added = len(texts(page, "#summary li")) + len(texts(page, "#paragraphs p"))
    assert page.evaluate("document.querySelectorAll('*').length") == before + added


def test_a_hostile_error_is_shown_and_not_obeyed(page: Browser) -> None:
    paste(page, "fail please")
    click(page, "send")
    state(page, "failed")
    assert text(page, "trouble") == "ValueError: <img src=x onerror=stolen=1> & no such luck"
    assert page.evaluate("typeof window.stolen") == "undefined"
    assert page.evaluate("document.images.length") == 0


def test_a_process_that_ends_by_itself_fails_its_job_and_its_last_words_are_shown(
    page: Browser, launch: str
) -> None:
    paste(page, "die now")
    click(page, "send")
    state(page, "failed")
    shown = text(page, "trouble")
    assert "ended with status 7" in shown
    assert shown.endswith("and thanks")
    if launch == "pool":
        # As the pool has put it, line for line, and not obeyed.
        assert re.fullmatch(WORKER_DIED, shown), shown
        assert texts(page, "#trouble b") == []
    paste(page, RAW)
    click(page, "send")
    state(page, "done")


WORKER_DIED = (
    r"the worker that ran the task \(pid \d+\) ended with status 7; its last lines were:\n"
    r"<b>so long</b>\nand thanks"
)


def test_a_killed_job_is_seen_to_be_killed(page: Browser, server: Server) -> None:
    server.hold()
    paste(page, "hold on")
    click(page, "send")
    os.kill(server.held(), signal.SIGKILL)
    state(page, "killed")
    assert text(page, "words") == "Its process was ended by SIGKILL."


def test_what_cannot_be_sent_is_said_before_it_is(page: Browser, server: Server) -> None:
    page.requests.clear()
    for words, why in (
        ("  ", "There is nothing to send yet: paste a transcript."),
        ("ä" * (MOST_BYTES // 2 + 1), "This is too long: 20,000 bytes are the most."),
    ):
        paste(page, words)
        page.press("Enter", control=True)
        assert text(page, "refused") == why
        assert page.evaluate("document.activeElement.id") == "text"
    paste(page, "...")
    click(page, "send")
    until(lambda: text(page, "refused") == "Not accepted: there are no words in it.", "the server's word")
    page.complaints.clear()  # the browser notes each answer that refuses
    assert page.requests == [f"{server.address}transcripts"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_words_can_be_read_in_light_and_dark(page: Browser, server: Server, scheme: str) -> None:
    page.prefer(scheme)
    try:
        for words, end in ((RAW, "done"), ("fail please", "failed"), ("hold on", "cancelled")):
            server.hold()
            paste(page, words)
            click(page, "send")
            if end == "cancelled":
                state(page, "running")
                assert page.evaluate(CONTRAST) == []
                click(page, "cancel")
            state(page, end)
            assert page.evaluate(CONTRAST) == []
            server.go()
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == {"light": "rgb(250, 249, 247)", "dark": "rgb(24, 23, 22)"}[scheme]
    finally:
        page.prefer("light")


def test_no_width_makes_the_page_scroll_sideways(page: Browser) -> None:
    paste(page, f"{'w' * 400} {RAW}")
    click(page, "send")
    state(page, "done")
    try:
        for width in (320, 420, 768, 1920):
            page.resize(width, 900)
            overflow: Any = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert overflow <= 0, width
    finally:
        page.resize(1000, 900)


def test_a_server_that_dies_is_missed_and_its_successor_is_heard(
    chromium: Browser, tmp_path: Path, launch: str
) -> None:
    first = Server(tmp_path, "--launch", launch)
    chromium.open(first.address)
    paste(chromium, f"hold on {RAW}")
    click(chromium, "send")
    first.held()
    # The engine may be at it before the page has heard that there is a job.
    state(chromium, "running")
    first.kill()
    until(lambda: text(chromium, "words") == "The server does not answer; trying again.", "it is missed")
    second = Server(tmp_path, "--launch", launch, "--port", str(first.port))
    assert second.port == first.port
    second.go()
    state(chromium, "done")
    assert second.said[0] == "jobs that ran when the server died: 1 begun again, 0 given up"
    second.stop()
