"""The page in a real Chromium: drawn, moved about by keys alone, searched, dark, narrow, and offline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coldfork.report.recordings.page import difference, document
from coldfork.report.shared.options import Options
from tests.report import browser
from tests.report.browser import Browser
from tests.report.recorded import AWAKE, POISONED, Tape, cold, poisoned
from tests.report.test_recording_page import hostile

pytestmark = pytest.mark.once

ITEM = "#icicle [role=treeitem]"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser for all tests of this file."""
    with browser.opened(tmp_path_factory.mktemp("profile"), 1200, 900) as started:
        yield started


@pytest.fixture
def show(chromium: Browser, tmp_path: Path) -> Iterator[Any]:
    """Open the page of a recording; at the end nothing was fetched but the page, and nothing complained."""
    chromium.requests.clear()
    chromium.complaints.clear()
    opened: list[Path] = []

    def open_page(tape: Tape, other: Tape | None = None) -> Browser:
        file = tmp_path / f"page{len(opened)}.html"
        opened.append(file)
        if other is None:
            content = document.render(tape.read(), Options(version="0.1.0"))
        else:
            content = difference.render(tape.read(), other.read(), Options())
        file.write_text(content, encoding="utf-8")
        chromium.open(file)
        return chromium

    yield open_page
    assert chromium.requests == [file.as_uri() for file in opened]
    assert chromium.complaints == []


def large() -> Tape:
    """Hundreds of processes and thousands of imports, many of them too short to be drawn."""
    tape = Tape().process()
    for number in range(40):
        start = number * 0.1
        for inner in range(75):
            at = round(start + 0.001 * inner, 6)
            tape.load(f"package{number}.part{inner}", at, 0.0009, f"package{number}")
        tape.load(f"package{number}", start, 0.09)
    tape.wake(5.0).load("vllm.v1.attention.backends.flash_attn", 4.9, 0.2, "engine").load("engine", 4.8, 0.4)
    for number in range(300):
        at = 6.0 + number / 50
        tape.fork(at, 1000 + number).process(at + 0.01, 1000 + number, 100, "fork", states=POISONED)
        tape.exit(at + 1.0, 1000 + number, states=POISONED)
    return tape.exit(14.0, states=AWAKE)


def focused(page: Browser) -> str:
    name: str = page.evaluate(
        "document.activeElement.getAttribute('aria-label') || document.activeElement.id"
    )
    return name


def focus_tree(page: Browser) -> None:
    page.evaluate("document.querySelector('#icicle [tabindex=\"0\"]').focus()")


def test_the_imports_are_drawn_with_their_effects(show: Any) -> None:
    page = show(poisoned(2))
    labels = page.evaluate(
        f"[...document.querySelectorAll('{ITEM}')].map(one => one.getAttribute('aria-label'))"
    )
    assert labels == [
        "all imports of 100 (run), 1.90 s",
        "torch, 1.20 s, starts-threads: libgomp: 8 threads",
        "torch._C, 300 ms",
        "torch.nn, 400 ms",
        "engine, 700 ms",
        "vllm.v1.attention.backends.flash_attn, 600 ms, wakes cuda",
    ]
    signs = page.evaluate(f"[...document.querySelectorAll('{ITEM}')].map(one => one.textContent[0])")
    assert signs == ["a", "\u2022", "t", "t", "\u25c7", "\u25c6"]
    widths = page.evaluate(f"[...document.querySelectorAll('{ITEM}')].map(one => one.offsetWidth)")
    assert widths[1] / widths[0] == pytest.approx(1.2 / 1.9, rel=0.02)
    assert page.evaluate("document.getElementById('icicle-without').offsetParent") is None


def test_modules_of_a_package_share_its_colour_and_a_wake_keeps_its_own(show: Any) -> None:
    page = show(poisoned(2))
    fill = "getComputedStyle(document.querySelector('#icicle [aria-label^=\"{}\"]')).backgroundColor"
    names = ("all imports", "torch,", "torch._C,", "torch.nn,", "engine,", "vllm.")
    top, torch, *inside, engine, waking = (page.evaluate(fill.format(name)) for name in names)
    assert inside == [torch, torch]
    assert len({top, torch, engine, waking}) == 4
    assert waking == page.evaluate(
        "getComputedStyle(document.querySelector('.legend .wakes')).backgroundColor"
    )


def test_everything_can_be_done_with_the_keyboard(show: Any) -> None:
    page = show(poisoned(2))
    focus_tree(page)
    assert focused(page).startswith("vllm.v1.attention.backends.flash_attn")
    for key, name in (
        ("ArrowUp", "engine"),
        ("ArrowLeft", "torch,"),
        ("ArrowLeft", "torch,"),
        ("ArrowDown", "torch._C"),
        ("ArrowRight", "torch.nn"),
        ("ArrowDown", "torch.nn"),
        ("Enter", "torch.nn"),
    ):
        page.press(key)
        assert focused(page).startswith(name), key
    wide = page.evaluate("document.activeElement.offsetWidth / document.getElementById('icicle').clientWidth")
    assert wide > 0.95
    page.press("Escape")
    assert focused(page).startswith("torch,")
    page.press("Home")
    assert focused(page).startswith("all imports")


def test_tab_reaches_every_control_and_shows_where_it_is(show: Any) -> None:
    page = show(poisoned(2))
    reached = []
    for _ in range(30):
        page.press("Tab")
        where = page.evaluate(
            "(() => { const e = document.activeElement; return e === document.body ? '' : "
            "(e.id || e.getAttribute('role') || e.dataset.zoom || e.tagName) })()"
        )
        if not where:
            break
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none", where
        reached.append(where)
    wanted = [
        "theme",
        "A",
        "A",
        "out",
        "in",
        "whole",
        "timeline",
        "icicle-process",
        "icicle-search",
        "icicle-whole",
    ]
    assert reached[: len(wanted)] == wanted
    assert "treeitem" in reached
    assert "region" in reached


def test_search_by_key_finds_counts_and_goes_to_the_next(show: Any) -> None:
    page = show(poisoned(2))
    page.press("/")
    assert focused(page) == "icicle-search"
    page.type("TORCH")
    assert page.evaluate("document.getElementById('icicle-found').textContent") == (
        "3 of 5 imports, 1.20 s of their own"
    )
    assert page.evaluate("document.querySelectorAll('#icicle .match').length") == 3
    current = "document.querySelector('#icicle .current').getAttribute('aria-label').split(',')[0]"
    seen = []
    for _ in range(4):
        page.press("Enter")
        seen.append(page.evaluate(current))
    assert seen == ["torch", "torch._C", "torch.nn", "torch"]
    page.press("Enter", shift=True)
    assert page.evaluate(current) == "torch.nn"
    page.press("Escape")
    assert page.evaluate("document.querySelectorAll('#icicle .dim').length") == 0


def test_what_is_too_narrow_to_be_drawn_is_found_and_zoomed_to(show: Any) -> None:
    page = show(large())
    drawn = page.evaluate(f"document.querySelectorAll('{ITEM}').length")
    assert drawn < 3044
    page.press("/")
    page.type("package39.part74")
    page.press("Enter")
    found = "document.querySelector('#icicle .current')"
    assert page.evaluate(f"{found}.getAttribute('aria-label')").startswith("package39.part74,")
    assert page.evaluate(f"{found}.offsetWidth") >= 1
    page.press("ArrowDown")
    assert focused(page).startswith("package39.part74,")


def test_a_click_zooms_and_the_button_zooms_out(show: Any) -> None:
    page = show(large())
    page.evaluate("document.querySelector('#icicle [aria-label^=\"engine,\"]').click()")
    wide = "document.querySelector('#icicle .current').offsetWidth / document.getElementById('icicle').clientWidth"
    assert page.evaluate(wide) > 0.95
    page.evaluate("document.getElementById('icicle-whole').click()")
    assert focused(page) != ""
    assert page.evaluate("document.querySelector('#icicle .current').getAttribute('aria-label')").startswith(
        "all"
    )


def test_another_process_can_be_chosen(show: Any) -> None:
    tape = poisoned(1)
    tape.process(4.0, 300, 100, "spawn").load("json", 4.1, 0.01, pid=300)
    page = show(tape)
    page.evaluate(
        "(() => { const p = document.getElementById('icicle-process'); p.value = '1'; "
        "p.dispatchEvent(new Event('change')) })()"
    )
    labels = page.evaluate(
        f"[...document.querySelectorAll('{ITEM}')].map(one => one.getAttribute('aria-label'))"
    )
    assert labels == ["all imports of 300 (spawned), 10 ms", "json, 10 ms"]


def test_the_timeline_zooms_by_key(show: Any) -> None:
    page = show(large())
    page.evaluate("document.getElementById('timeline').focus()")
    width = "document.querySelector('.lanes').getBoundingClientRect().width"
    before = page.evaluate(width)
    page.press("+")
    assert page.evaluate(width) == pytest.approx(2 * before, rel=0.01)
    page.press("0")
    assert page.evaluate(width) == pytest.approx(before, rel=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_in_light_and_dark(show: Any, chromium: Browser, scheme: str) -> None:
    chromium.prefer(scheme)
    page = show(poisoned(2))
    for _ in range(2):
        faint = page.evaluate(CONTRAST)
        assert faint == []
        page.evaluate("document.getElementById('theme').click()")
    chromium.prefer("light")


def test_the_switch_changes_the_colours_and_names_the_other_one(show: Any, chromium: Browser) -> None:
    chromium.prefer("light")
    page = show(cold())
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    assert page.evaluate("document.getElementById('theme').textContent") == "Dark"
    page.evaluate("document.getElementById('theme').click()")
    assert page.evaluate(ground) != light
    assert page.evaluate("document.getElementById('theme').textContent") == "Light"
    chromium.prefer("dark")
    page.evaluate("document.getElementById('theme').click()")
    assert page.evaluate(ground) == light
    chromium.prefer("light")


@pytest.mark.parametrize("width", [320, 420, 768, 1920])
def test_no_width_makes_the_page_scroll_sideways(show: Any, chromium: Browser, width: int) -> None:
    chromium.resize(width, 900)
    for tape in (poisoned(3), hostile()):
        page = show(tape)
        overflow = page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert overflow <= 0
    chromium.resize(1200, 900)


def test_poison_is_hatched_and_not_only_coloured(show: Any) -> None:
    page = show(poisoned(1))
    fill = "getComputedStyle(document.querySelector('.lanes rect.poisoned')).fill"
    assert "#hatch" in page.evaluate(fill)
    ink = "getComputedStyle(document.querySelector('.hatch-stroke')).fill"
    assert page.evaluate(ink) == "rgb(28, 27, 25)"


def test_a_hostile_recording_runs_nothing(show: Any) -> None:
    page = show(hostile())
    assert page.evaluate("typeof steal") == "undefined"
    assert page.evaluate("document.querySelectorAll('img, iframe, object, form').length") == 0
    assert page.evaluate("document.scripts.length") == 2
    assert page.evaluate(f"document.querySelectorAll('{ITEM}').length") > 5
    page.press("/")
    page.type("<img")
    assert page.evaluate("document.querySelectorAll('#icicle .match').length") >= 1


def test_hundreds_of_equal_processes_are_one_row_until_it_is_opened(show: Any) -> None:
    page = show(large())
    shown = "document.querySelectorAll('#timeline .pid').values().filter(one => one.checkVisibility())"
    names = f"[...{shown}].map(one => one.textContent)"
    assert page.evaluate(names) == ["100", "300 equal"]
    page.evaluate("document.querySelector('#timeline summary').focus()")
    page.press("Enter")
    assert page.evaluate(names) == ["100", "300 equal", *map(str, range(1000, 1300))]
    assert page.evaluate("document.querySelectorAll('.each .arrival').length") == 300
    heights = page.evaluate(
        "['.labels', '.lanes'].map(name => [...document.querySelectorAll(name)].map(one => one.clientHeight))"
    )
    assert heights[0] == heights[1]
    edges = page.evaluate(
        "['.axis', '.fold .lanes', '.each .lanes'].map(name => "
        "document.querySelector(name).getBoundingClientRect()).map(box => [box.left, box.right])"
    )
    assert edges[1:] == [edges[0], edges[0]]


def test_a_link_opens_the_row_of_equals_that_it_leads_into(show: Any) -> None:
    page = show(large())
    row = "document.getElementById('process-12')"
    assert not page.evaluate(f"{row}.checkVisibility()")
    page.evaluate(
        "new Promise(done => { addEventListener('hashchange', () => setTimeout(done)); "
        "location.hash = 'process-12' })"
    )
    assert page.evaluate(f"{row}.checkVisibility()")
    # Not every browser does it by itself.
    page.evaluate(
        "document.querySelectorAll('details').forEach(one => one.open = false); "
        "dispatchEvent(new Event('hashchange'))"
    )
    assert page.evaluate(f"{row}.checkVisibility()")


#: Everything that can be clicked, and is shown, with its width and height.
TARGETS = """
[...document.querySelectorAll("a, button, input, select, summary, label, [role=treeitem]")]
  .filter((one) => one.checkVisibility())
  .map((one) => [one.outerHTML.slice(0, 80), one.getBoundingClientRect()])
  .filter(([, box]) => box.width < 24 || box.height < 24)
  .map(([words, box]) => `${words}: ${box.width} x ${box.height}`)
"""


@pytest.mark.parametrize("width", [320, 1200])
def test_whatever_can_be_clicked_is_large_enough_to_be_hit(show: Any, chromium: Browser, width: int) -> None:
    chromium.resize(width, 900)
    for tape in (poisoned(3), large()):
        page = show(tape)
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.evaluate("document.querySelectorAll('a').length") > 3
        assert page.evaluate(TARGETS) == []
        page.press("/")
        page.type("package39.part74")
        page.press("Enter")
        assert page.evaluate(TARGETS) == []
    chromium.resize(1200, 900)


def test_what_is_too_narrow_for_a_click_is_offered_in_a_list(show: Any) -> None:
    page = show(large())
    page.evaluate("document.querySelector('#icicle [aria-label^=\"engine,\"]').click()")
    page.evaluate("document.getElementById('icicle-whole').click()")
    thin = "document.querySelectorAll('#icicle .thin:not([role])')"
    assert page.evaluate(f"{thin}.length") > 10
    page.evaluate(f"{thin}[0].click()")
    name = "document.querySelector('#icicle .current').getAttribute('aria-label').split(',')[0]"
    wide = page.evaluate(name)
    assert not wide.startswith("package0")
    page.evaluate("document.getElementById('icicle-whole').click()")
    page.evaluate(
        "(() => { const list = document.getElementById('icicle-inside'); list.selectedIndex = 1; "
        "list.dispatchEvent(new Event('change')) })()"
    )
    assert page.evaluate(name) == "engine"


def test_the_difference_opens_without_a_complaint(show: Any) -> None:
    page = show(poisoned(2), cold())
    assert page.evaluate("document.querySelectorAll('main section').length") >= 5


def test_a_recording_without_imports_opens_without_a_complaint(show: Any) -> None:
    page = show(Tape().process().exit(1.0))
    assert "No import was recorded." in page.evaluate("document.body.innerText")


#: Every piece of text whose contrast with what is behind it is below 4.5 to 1 (WCAG AA).
CONTRAST = """
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b]
    .map((part) => part / 255)
    .map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const behind = (element) => {
    for (let here = element; here; here = here.parentElement) {
      const colour = rgb(getComputedStyle(here).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const words = walker.currentNode.data.trim();
    const element = walker.currentNode.parentElement;
    const hidden = element.closest("script, style, [hidden], defs, title, select");
    if (!words || hidden || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const front = rgb(element.closest("svg") ? style.fill : style.color);
    const [a, b] = [light(front), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) faint.push(`${words.slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return faint;
})()
"""
