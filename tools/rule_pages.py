"""Writes the pages of rules, stories and checks from their modules: `./dev docs`"""

from __future__ import annotations

import sys
from pathlib import Path

from coldfork.diagnose.doctor import registry as checks
from coldfork.diagnose.stories import registry as stories
from coldfork.knowledge.troubles import TROUBLES, named
from coldfork.rules.registry import Page, module_of, pages
from fix_diffs import renewed, renewed_module
from generated_files import settle

DOCS = Path(__file__).resolve().parent.parent / "docs"
SOURCE = DOCS.parent / "src"
RULES = DOCS / "rules"
STORIES = DOCS / "stories"


def index(all_pages: tuple[Page, ...]) -> str:
    """The page that lists the rules."""
    rows = "\n".join(
        f"| [{page.name}]({page.name}.md) | {page.severity.value} | {page.summary} |" for page in all_pages
    )
    return (
        "# The rules\n\n"
        "`coldfork rule NAME` prints the same pages. The severity is the loudest a rule can be; a finding\n"
        "that is only conditional or possible is said more quietly.\n\n"
        f"| rule | severity | what it reports |\n| --- | --- | --- |\n{rows}\n"
    )


def story_index() -> str:
    """The page that lists the stories."""
    rows = "\n".join(f"| [{name}]({name}.md) | {named(name).sign} |" for name in stories.STORIES)
    others = [trouble for trouble in TROUBLES if trouble.name not in stories.STORIES]
    silent = "\n".join(f"| {one.sign} | {one.cause} | {one.remedy} |" for one in others)
    return (
        "# Failures, one by one\n\n"
        "What [`coldfork explain`](../how-to/explain.md) recognises in a log. Each page says why, and what "
        "to do.\n\n"
        f"| story | what is seen |\n| --- | --- |\n{rows}\n\n"
        "## What leaves no words in a log\n\n"
        f"| what is seen | why | what to do |\n| --- | --- | --- |\n{silent}\n"
    )


def files() -> dict[Path, str | None]:
    """Every file and what it should hold; None for a page that belongs to no rule and to no story."""
    all_pages = pages()
    wanted = {RULES / f"{page.name}.md": renewed(page.markdown) for page in all_pages}
    modules = {SOURCE / module_of(page.name).replace(".", "/") for page in all_pages}
    for module in (path.with_suffix(".py") for path in modules):
        if module.exists():
            wanted[module] = renewed_module(module.read_text(encoding="utf-8"))
    wanted |= {STORIES / f"{name}.md": stories.page(name) for name in stories.STORIES}
    wanted |= {RULES / "index.md": index(all_pages), STORIES / "index.md": story_index()}
    wanted[DOCS / "reference" / "doctor.md"] = checks.page()
    return dict.fromkeys([*RULES.glob("*.md"), *STORIES.glob("*.md")]) | wanted


if __name__ == "__main__":
    sys.exit(settle("Write the pages of rules, stories and checks.", "./dev docs", files()))
