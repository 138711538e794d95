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
    text = site_texts.listing(texts)
    assert re.match(r"# coldfork\n\n> [^\n]+\n\n", text)
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    entries = [ENTRY.fullmatch(line) for line in lines]
    assert None not in entries, lines
    names = [entry[2] for entry in entries if entry is not None]
    assert sorted(names) == sorted(texts)
    # What the first page names comes first, and in its order.
    order = ("index.md", "how-to/changes.md", "explanation/how-check-works.md", "rules/index.md")
    places = [names.index(name) for name in (*order, "rules/device-init-at-import.md")]
    assert places == sorted(places)


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
    assert site_texts.write(docs, site) == ["c.md"]
    assert (site / "index.md").read_text(encoding="utf-8") == first
    assert (site / "how/b.md").is_file()
    begin, how = (site / "llms.txt").read_text(encoding="utf-8").split("## ")[1:]
    assert [line.partition(": ")[0] for line in begin.splitlines()[2:5]] == [
        "- [A tool](index.md)",
        "- [B](how/b.md)",
        "- [C](c.md)",
    ]
    assert begin.splitlines()[3].endswith("word ...")
    assert how == "How\n\n- [A](how/a.md): First line: 1.\n"
