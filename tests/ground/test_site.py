"""The site: every page has its place in the order of reading, and transcripts stay out of the search."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def listed(entry: object) -> Iterator[str]:
    """The pages of a part of the navigation."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for below in entry.values():
            yield from listed(below)
    elif isinstance(entry, list):
        for below in entry:
            yield from listed(below)


def test_every_page_is_in_the_navigation_once() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    pages = Counter(file.relative_to(DOCS).as_posix() for file in DOCS.rglob("*.md"))
    assert Counter(listed(site["project"]["nav"])) == pages


def test_the_search_leaves_out_transcripts_and_reports() -> None:
    folders = (DOCS / "integrations", DOCS / "reports")
    pages = [*(page for folder in folders for page in folder.glob("*.md")), DOCS / "decisions.md"]
    assert pages
    left_out = "search:\n  exclude: true\n"
    assert [page.name for page in pages if left_out not in page.read_text(encoding="utf-8")] == []


def test_the_error_that_brings_people_here_is_the_title_of_the_page_that_helps() -> None:
    """The search ranks a title first."""
    said = "# Cannot re-initialize CUDA in forked subprocess"
    pages = [page for page in DOCS.rglob("*.md") if said in page.read_text(encoding="utf-8")]
    assert [page.name for page in pages] == ["cuda-in-child-processes.md"]
