"""The site as text: every page as Markdown beside it, and a list of them in reading order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import site_texts

pytestmark = pytest.mark.once
ENTRY = re.compile(r"- \[([^\]]+)\]\(([^)]+)\): (.+)")


def test_the_list_names_every_page_once_with_a_line() -> None:
    texts = site_texts.pages(site_texts.DOCS)
    text = site_texts.listing(texts, site_texts.navigation(site_texts.SETTINGS))
    assert re.match(r"# coldfork\n\n> [^\n]+\n\n", text)
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    entries = [ENTRY.fullmatch(line) for line in lines]
    assert None not in entries, lines
    names = [entry[2] for entry in entries if entry is not None]
    assert sorted(names) == sorted(texts)
    # The order of reading: within a section as the site has it, the first page and its section first.
    order = ("index.md", "tutorial.md", "how-to/explain.md", "how-to/guard.md", "how-to/changes.md")
    places = [names.index(name) for name in (*order, "rules/index.md", "rules/device-init-at-import.md")]
    assert places == sorted(places)
    titles = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert titles[:3] == ["Start", "I have a crash", "I maintain a library"]
    assert "More" not in titles


def test_the_pages_lie_beside_those_of_the_site(tmp_path: Path) -> None:
    docs, site = tmp_path / "docs", tmp_path / "site"
    (docs / "how").mkdir(parents=True)
    first = "# A tool\n\n*It finds [lines](how/b.md). And more.*\n\n- [b](how/b.md#part), [c](./c.md)\n"
    (docs / "index.md").write_text(first, encoding="utf-8")
    (docs / "how/a.md").write_text("# A\n\n```text\nNo. Prose.\n```\n\nFirst\nline: 1. More.\n", "utf-8")
    (docs / "how/b.md").write_text(f"# B\n\n{'word ' * 80}\n", encoding="utf-8")
    (docs / "c.md").write_text("# C\n\nIs it?\n", encoding="utf-8")
    (site / "how").mkdir(parents=True)
    for name in ("index", "how/a", "how/b"):
        (site / f"{name}.html").touch()
    nav: list[site_texts.Entry] = [{"Start": [{"Home": "index.md"}, "c.md"]}, {"How": ["how/b.md"]}]
    assert site_texts.write(docs, site, nav) == ["c.md"]
    assert (site / "index.md").read_text(encoding="utf-8") == first
    assert (site / "how/b.md").is_file()
    start, how, more = (site / "llms.txt").read_text(encoding="utf-8").split("## ")[1:]
    assert start == "Start\n\n- [A tool](index.md): It finds lines.\n- [C](c.md): Is it?\n\n"
    assert how.startswith("How\n\n- [B](how/b.md): word ")
    assert how.endswith("word ...\n\n")
    assert more == "More\n\n- [A](how/a.md): First line: 1.\n"
