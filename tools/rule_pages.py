"""Write the rules' pages of the documentation from the rules' own docstrings.

`python tools/rule_pages.py` writes docs/rules/; with `--check` it writes nothing and fails when a page is not
current.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from coldfork.rules.pages import Page, pages

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


def wanted() -> dict[str, str]:
    """Every file of the folder and what it should hold."""
    all_pages = pages()
    files = {f"{page.name}.md": page.markdown for page in all_pages}
    return {"index.md": index(all_pages), **files}


def stale(files: dict[str, str]) -> list[str]:
    """Names of pages that are missing, differ, or belong to no rule."""
    present = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    return sorted(name for name in files.keys() | present.keys() if files.get(name) != present.get(name))


def write(files: dict[str, str]) -> None:
    """Make the folder hold exactly these files."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in stale(files):
        if name in files:
            (FOLDER / name).write_text(files[name], encoding="utf-8")
        else:
            (FOLDER / name).unlink()


def main() -> int:
    """Write or compare the pages; the exit status says whether they were current."""
    parser = argparse.ArgumentParser(description="Write the rules' pages into docs/rules/.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page is not current")
    arguments = parser.parse_args()
    files = wanted()
    if not arguments.check:
        write(files)
        return 0
    outdated = stale(files)
    if outdated:
        print(f"not current: {', '.join(outdated)}; ./dev docs writes them", file=sys.stderr)
    return 1 if outdated else 0


if __name__ == "__main__":
    sys.exit(main())
