"""Writes the rules' pages of the documentation, docs/rules/, from the rules' own docstrings: `./dev docs`"""

from __future__ import annotations

import sys
from pathlib import Path

from coldfork.rules.pages import Page, pages
from generated_files import settle

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "rules"


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


def files() -> dict[Path, str | None]:
    """Every file of the folder and what it should hold; None for a page that belongs to no rule."""
    all_pages = pages()
    wanted = {f"{page.name}.md": page.markdown for page in all_pages} | {"index.md": index(all_pages)}
    return dict.fromkeys(FOLDER.glob("*.md")) | {FOLDER / name: text for name, text in wanted.items()}


if __name__ == "__main__":
    sys.exit(settle("Write the rules' pages into docs/rules/.", "./dev docs", files()))
