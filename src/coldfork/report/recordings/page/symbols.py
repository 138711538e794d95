"""The sign of each state, recognisable without colour, and the colours of packages."""

from __future__ import annotations

from zlib import crc32

from coldfork.model.states import Status
from coldfork.report.recordings.page.markup import Markup, element, join
from coldfork.report.recordings.summary.outcomes import Standing

MEANINGS = {
    Status.COLD: "cold: its library is loaded but not initialised",
    Status.AWAKE: "awake: initialised in this process",
    Status.POISONED: "poisoned: forked from a process where it was awake",
    Status.UNKNOWN: "unknown: could not be determined",
}

_STANDINGS = {
    Standing.COLD: Status.COLD,
    Standing.WOKEN: Status.AWAKE,
    Standing.POISONED: Status.POISONED,
    Standing.UNKNOWN: Status.UNKNOWN,
}


def patterns() -> Markup:
    """Return the patterns for the page: hatching for poisoned states, and dots for unknown ones."""
    hatch = element(
        "pattern",
        element("rect", width=7, height=7, class_="hatch-ground"),
        element("rect", width=3.5, height=7, class_="hatch-stroke"),
        id="hatch",
        width=7,
        height=7,
        patternUnits="userSpaceOnUse",
        patternTransform="rotate(45)",
    )
    dots = element(
        "pattern",
        element("rect", width=5, height=5, class_="hatch-ground"),
        element("circle", cx=2.5, cy=2.5, r=1.1, class_="dot"),
        id="dots",
        width=5,
        height=5,
        patternUnits="userSpaceOnUse",
    )
    return element(
        "svg", element("defs", hatch, dots), width=0, height=0, class_="definitions", aria_hidden="true"
    )


def swatch(status: Status) -> Markup:
    """Return a small bar that looks like those in the timeline."""
    bar = element("rect", x=1, y=1, width=26, height=10, class_=f"state {status.value}")
    return element("svg", bar, width=28, height=12, class_="swatch", aria_hidden="true")


def standing_sign(standing: Standing) -> Markup:
    """Return the large sign of the verdict, which looks like the corresponding state."""
    status = _STANDINGS[standing]
    bar = element("rect", x=2, y=2, width=52, height=24, class_=f"state {status.value}")
    return element("svg", bar, width=56, height=28, class_="sign", aria_hidden="true")


def diamond() -> Markup:
    """Return the sign of a wake."""
    return element(
        "svg",
        element("path", d="M7 1 L13 7 L7 13 L1 7 Z", class_="wake"),
        width=14,
        height=14,
        class_="swatch",
        aria_hidden="true",
    )


def legend() -> Markup:
    """Return the meanings of the signs in the timeline."""
    items = [element("li", swatch(status), " ", meaning) for status, meaning in MEANINGS.items()]
    items.append(element("li", diamond(), " the moment of a wake"))
    return element("ul", join(items), class_="legend")


#: The number of colours that the style defines, as `--package-0` and so on.
COLOURS = 8


def package_of(module: str) -> str:
    """Return the top-level package of a module, such as `torch` for `torch.nn.functional`."""
    return module.partition(".")[0]


def colour_of(package: str) -> int:
    """Return the number of a package's colour; if there are more packages than colours, some share a
    colour.
    """
    return crc32(package.encode("utf-8", "surrogatepass")) % COLOURS
