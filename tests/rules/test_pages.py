"""The rules' pages: sections, examples that are Python, and the site's files, equal to the docstrings."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from coldfork.model.errors import UsageError
from coldfork.rules import registry

SITE = Path(__file__).parents[2] / "docs" / "rules"
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", registry.NAMES)
def test_a_page_has_every_section_in_order_and_none_is_empty(name: str) -> None:
    page = registry.page(name)
    assert page.markdown.startswith(f"# {name}\n\n{page.summary}\n")
    headings = re.findall(r"^## (.*)$", page.markdown, re.MULTILINE)
    assert tuple(headings) == registry.SECTIONS
    for text in re.split(r"^## .*$", page.markdown, flags=re.MULTILINE)[1:]:
        assert len(text.strip()) > 20
    assert "- **Static**" in page.markdown
    assert "- **Runtime**" in page.markdown
    assert ("offers no automatic fix" in page.markdown) == (name in registry.UNMENDED)


@pytest.mark.parametrize("name", registry.NAMES)
def test_a_page_is_the_same_where_python_drops_docstrings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    page = registry.page(name)
    monkeypatch.setattr(registry.rule(name), "__doc__", None)
    assert registry.page(name) == page


@pytest.mark.parametrize("name", registry.NAMES)
def test_a_page_shows_what_users_see(name: str) -> None:
    example = registry.page(name).markdown.partition("## Example")[2].partition("## Use instead")[0]
    assert "sers see" in example


@pytest.mark.parametrize("name", [name for name in registry.NAMES if name != "unreadable-source"])
def test_examples_are_python(name: str) -> None:
    examples = FENCE.findall(registry.page(name).markdown)
    assert len(examples) >= 2
    for example in examples:
        ast.parse(example)


def test_the_example_of_an_unreadable_file_is_unreadable_and_its_cure_is_not() -> None:
    broken, mended = FENCE.findall(registry.page("unreadable-source").markdown)
    with pytest.raises(SyntaxError):
        ast.parse(broken)
    ast.parse(mended)


@pytest.mark.parametrize("name", registry.NAMES)
def test_a_page_mentions_only_rules_that_exist(name: str) -> None:
    named = re.findall(
        r"`([a-z]+(?:-[a-z]+)*-(?:import|reexport|ignore|source))`", registry.page(name).markdown
    )
    assert set(named) <= set(registry.NAMES)


def test_the_site_has_the_same_pages() -> None:
    on_site = {
        path.stem: path.read_text(encoding="utf-8") for path in SITE.glob("*.md") if path.stem != "index"
    }
    assert on_site == {page.name: page.markdown for page in registry.pages()}, "write them anew: ./dev docs"


def test_pages_survive_an_interpreter_that_drops_docstrings() -> None:
    program = "from coldfork.rules.registry import page; print(page('waking-import').markdown, end='')"
    done = subprocess.run([sys.executable, "-OO", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == registry.page("waking-import").markdown


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(UsageError, match="did you mean eager-reexport"):
        registry.page("eager-rexport")
