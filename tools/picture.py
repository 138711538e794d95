"""Draws docs/pictures/finding.svg: a crash as Python tells it, and what `coldfork check` says of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from html import escape
from pathlib import Path

from generated_files import settle

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "pictures" / "finding.svg"
#: What a worker of the example printed, as it is; the tests of `explain` read it too.
CRASH = ROOT / "tests" / "diagnose" / "captured" / "broken_engine-3.11.log"
EXAMPLE = "examples/broken_engine"
COLUMNS = 94
ADVANCE, LINE, MARGIN, BAR = 7.8, 19, 20, 34
COLOURS = {
    "1;31": "#ff7b72",
    "1;33": "#e3b341",
    "36": "#76e3ea",
    "2": "#8b949e",
    "32": "#7ee787",
    "1": "#ffffff",
}
PLAIN, PANEL, HEAD, EDGE = "#c9d1d9", "#0d1117", "#161b22", "#30363d"
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_PIECE = re.compile(r"\x1b\[([0-9;]*)m")
Piece = tuple[str, str]
"""A colour and a text in it."""


def crash() -> list[list[Piece]]:
    """The end of the log: where the worker stood, and the error, in the red that terminals give to it."""
    lines = CRASH.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("Traceback"))
    own = next(number for number, line in enumerate(lines) if "in compute_capability" in line)
    end = next(number for number in range(own, len(lines)) if lines[number].startswith("RuntimeError"))
    shown = [lines[start], "  ...", *lines[own : own + 3], "  ..."]
    broken = textwrap.wrap(lines[end], COLUMNS)
    return [[(PLAIN, line)] for line in shown] + [[(COLOURS["1;31"], line)] for line in broken]


def finding() -> list[list[Piece]]:
    """The first entry that the command prints, in its colours."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "nothing").mkdir()
        words = ["check", EXAMPLE, "--color", "always", "--no-cache", "--site-packages", f"{folder}/nothing"]
        done = subprocess.run(
            [sys.executable, "-P", "-m", "coldfork", *words],
            cwd=ROOT,
            env={**os.environ, "COLDFORK_COLUMNS": str(COLUMNS), "PYTHONUTF8": "1"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    entry = done.stdout.partition("\n\n")[0]
    return [list(_pieces(line)) for line in entry.splitlines()]


def _pieces(line: str) -> Iterator[Piece]:
    """The parts of a line that have one colour."""
    colour = PLAIN
    for number, part in enumerate(_PIECE.split(line)):
        if number % 2:
            colour = COLOURS.get(part, PLAIN)
        elif part:
            yield colour, part


def draw() -> str:
    """The picture: two windows, one below the other."""
    above = ("what Python says", crash())
    below = (f"what coldfork check {EXAMPLE} says", finding())
    width = round(COLUMNS * ADVANCE + 2 * MARGIN)
    parts: list[str] = []
    top = 0
    for title, text in (above, below):
        height = BAR + len(text) * LINE + MARGIN
        parts += _window(title, text, top, width, height)
        top += height + 14
    words = "Above, a traceback that ends in torch. Below, coldfork names the line that woke the device."
    size = f'viewBox="0 0 {width} {top - 14}" width="{width}"'
    lines = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
        f"<title>{words}</title>",
        f"<style>text {{ font: 13px {FONT}; white-space: pre }}</style>",
        *parts,
        "</svg>\n",
    )
    return "\n".join(lines)


def _window(title: str, lines: list[list[Piece]], top: int, width: int, height: int) -> Iterator[str]:
    frame = f'x="0.5" width="{width - 1}" rx="8" stroke="{EDGE}"'
    yield f'<rect {frame} y="{top + 0.5}" height="{height - 1}" fill="{PANEL}"/>'
    yield f'<text x="{MARGIN}" y="{top + 22}" fill="{COLOURS["2"]}">{escape(title)}</text>'
    yield f'<path d="M0.5 {top + BAR - 4}H{width - 0.5}" stroke="{EDGE}"/>'
    for number, line in enumerate(lines):
        base = top + BAR + 14 + number * LINE
        column = 0
        for colour, text in line:
            blanks = len(text) - len(text.lstrip(" "))
            bare = text.strip(" ")
            if bare:
                # The length is given, so that columns stand below each other in any font.
                place = f'x="{MARGIN + (column + blanks) * ADVANCE:.1f}" y="{base}"'
                length = f'textLength="{len(bare) * ADVANCE:.1f}" lengthAdjust="spacingAndGlyphs"'
                yield f'<text {place} {length} fill="{colour}">{escape(bare)}</text>'
            column += len(text)


def main() -> int:
    """Write the picture, or with --check only say whether it is current."""
    return settle("Draw the picture of the README from real output.", "./dev docs", {TARGET: draw()})


if __name__ == "__main__":
    sys.exit(main())
