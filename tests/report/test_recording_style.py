"""The style of the page, computed from the page itself: contrast in both themes, and what can be clicked."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from coldfork.report.recordings.page import document
from coldfork.report.recordings.page.symbols import COLOURS, colour_of, package_of
from coldfork.report.shared.options import Options
from tests.report.recorded import poisoned
from tests.report.test_recording_page import data, page

pytestmark = pytest.mark.once

THEMES = ("light", "dark")
#: What WCAG 2.2 asks of graphics, of words, and of the size of a target in pixels.
GRAPHICS, WORDS, TARGET = 3.0, 4.5, 24


def style() -> str:
    (written,) = page(poisoned(3)).inside["style"]
    return re.sub(r"/\*.*?\*/", "", written, flags=re.DOTALL)


def script() -> str:
    return page(poisoned(3)).inside["script"][1]


def colours(theme: str) -> dict[str, str]:
    """The variables of the style that are colours, as a theme has them."""
    pairs = re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", style())
    return {name: (light, dark)[THEMES.index(theme)] for name, light, dark in pairs}


def rules(selector: str) -> dict[str, str]:
    """Return the declarations of exactly this selector's rules, outside of media queries."""
    said: dict[str, str] = {}
    plain = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", style())
    for names, body in re.findall(r"([^{}]+)\{([^{}]*)\}", plain):
        if selector in [name.strip() for name in names.split(",")]:
            said |= dict(re.findall(r"([\w-]+)\s*:\s*([^;]+);", body + ";"))
    return said


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_counted_as_wcag_counts_it() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=0.001)


@pytest.mark.must_hold
@pytest.mark.parametrize("theme", THEMES)
def test_every_cell_stands_out_from_what_is_behind_it(theme: str) -> None:
    known = colours(theme)
    # Cells lie on the ground of the picture, and in the legend on the paper of the card.
    assert rules(".icicle")["background"] == "var(--ground)"
    fills = [f"package-{number}" for number in range(COLOURS)]
    assert [rules(f".{name}")["--fill"] for name in fills] == [f"var(--{name})" for name in fills]
    assert rules(".cell")["--fill"] == "var(--soft)"
    assert rules(".cell.wakes")["--fill"] == "var(--accent)"
    for name in (*fills, "soft", "accent"):
        for behind in ("ground", "paper"):
            assert contrast(known[name], known[behind]) >= GRAPHICS, (name, behind)


@pytest.mark.must_hold
@pytest.mark.parametrize("theme", THEMES)
def test_the_words_in_a_cell_can_be_read(theme: str) -> None:
    known = colours(theme)
    assert rules(".cell")["color"] == "var(--on-package)"
    assert rules(".cell.wakes")["color"] == "var(--on-accent)"
    for name in (*(f"package-{number}" for number in range(COLOURS)), "soft"):
        assert contrast(known[name], known["on-package"]) >= WORDS, name
    assert contrast(known["accent"], known["on-accent"]) >= WORDS
    # Around what is shown, and what a search leaves out, only the outline has the colour.
    for selector in (".icicle .outer", ".icicle .dim"):
        assert rules(selector)["background"] == "var(--ground)"
        assert rules(selector)["color"] == "var(--ink)"
        assert rules(selector)["box-shadow"].endswith("var(--fill)")
    assert contrast(known["ink"], known["ground"]) >= WORDS


@pytest.mark.must_hold
@pytest.mark.parametrize("theme", THEMES)
def test_the_bars_and_lines_of_the_timeline_stand_out_from_both_stripes(theme: str) -> None:
    known = colours(theme)
    assert rules(".stripe")["fill"] == "var(--ground)"
    drawn = {
        ".state.cold": "stroke",
        ".state.awake": "fill",
        ".state.poisoned": "stroke",
        ".state.unknown": "stroke",
        ".hatch-stroke": "fill",
        ".dot": "fill",
        ".life": "stroke",
        ".edge line": "stroke",
        ".edge.poisoned-fork line": "stroke",
        ".arrival": "fill",
        ".arrival.poisoned-fork": "fill",
        ".wake": "stroke",
        ".marker": "fill",
    }
    for selector, what in drawn.items():
        name = rules(selector)[what].removeprefix("var(--").removesuffix(")")
        for behind in ("ground", "paper"):
            assert contrast(known[name], known[behind]) >= GRAPHICS, (selector, behind)


def test_nothing_that_is_drawn_fades() -> None:
    assert "opacity" not in style()


@pytest.mark.must_hold
def test_whatever_can_be_clicked_has_at_least_24_pixels() -> None:
    assert rules(":root")["--target"] == f"{TARGET}px"
    for selector in ("button", "select", "input", "a"):
        assert rules(selector)["min-height"] == "var(--target)", selector
        assert rules(selector)["min-width"] == "var(--target)", selector
    for selector in ("summary", ".fold > summary"):
        assert rules(selector)["min-height"] == "var(--target)", selector
    assert rules(".icicle .cell")["height"] == "var(--target)"
    assert rules('.icicle [role="treeitem"]')["min-width"] == "var(--target)"
    assert f"const TARGET = {TARGET};" in script()
    read = page(poisoned(3))
    areas = [one for one in read.all("rect") if one.get("class") == "area"]
    assert len(areas) == 4
    assert all(float(one["height"]) >= TARGET and one["width"] == "100%" for one in areas)


def test_a_package_has_the_same_colour_in_every_page_and_every_interpreter() -> None:
    assert package_of("torch.nn.functional") == package_of("torch") == "torch"
    assert {name: colour_of(name) for name in ("torch", "vllm", "numpy", "triton", "")} == {
        "torch": 7,
        "vllm": 6,
        "numpy": 2,
        "triton": 1,
        "": 0,
    }
    program = "from coldfork.report.recordings.page.symbols import colour_of; print(colour_of('engine'))"
    answers = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert answers == {f"{colour_of('engine')}\n".encode()}


def test_the_page_hands_the_script_a_colour_for_every_package() -> None:
    read = page(poisoned(1))
    assert data(read)["packages"] == [[name, colour_of(name)] for name in ("engine", "torch", "vllm")]
    content = document.render(poisoned(1).read(), Options())
    assert f'<span class="cell package-{colour_of("torch")}"></span> torch</li>' in content
