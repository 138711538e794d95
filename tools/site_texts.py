"""Lays the pages of the built site beside it as Markdown, and `llms.txt`, which lists them: `./dev docs`"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS, SITE = ROOT / "docs", ROOT / "site"
SETTINGS = ROOT / "zensical.toml"
LIST = "llms.txt"
FIRST = "index.md"
HEAD = """# coldfork

> {sentence}

Each page of this site is here as Markdown, too: under the same name with `.md` in the place of `.html`.
"""
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]*)\)")
_SENTENCE = re.compile(r"(.+?[.?!])(?=\s|$)")
_NOT_PROSE = ("```", "|", "#", "- ", "    ", "<", "![", "---", "1. ")
_MOST = 200

Entry = str | Mapping[str, Any]
"""A page of the navigation, with its title or without, or a section and its entries."""


def pages(docs: Path) -> dict[str, str]:
    """The pages by their paths below the folder of the documentation."""
    found = sorted(docs.rglob("*.md"))
    return {file.relative_to(docs).as_posix(): file.read_text(encoding="utf-8") for file in found}


def listing(texts: Mapping[str, str], nav: Sequence[Entry]) -> str:
    """`llms.txt`: the pages in the sections and order of the navigation, then those that it leaves out."""
    parts = [HEAD.format(sentence=_sentence(texts[FIRST]))]
    named: set[str] = set()
    for title, names in sections("Begin here", nav):
        named |= set(names)
        parts.append(_section(title, [name for name in names if name in texts], texts))
    rest = [name for name in texts if name not in named]
    return "\n".join([*parts, _section("More", rest, texts)] if rest else parts)


def sections(title: str, nav: Sequence[Entry]) -> Iterator[tuple[str, list[str]]]:
    """Each section that has pages of its own, with these, followed by the sections inside it."""
    pages, inside = [], []
    for entry in nav:
        name, below = next(iter(entry.items())) if isinstance(entry, Mapping) else ("", entry)
        if isinstance(below, str):
            pages.append(below)
        else:
            inside.append((name, below))
    if pages:
        yield title, pages
    for name, below in inside:
        yield from sections(name, below)


def _section(title: str, names: list[str], texts: Mapping[str, str]) -> str:
    lines = (f"- [{_title(texts[name])}]({name}): {_sentence(texts[name])}\n" for name in names)
    return f"## {title}\n\n{''.join(lines)}"


def _title(text: str) -> str:
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    return _plain(found[1]) if found else ""


def _sentence(text: str) -> str:
    """The first sentence of a page that is prose."""
    for paragraph in re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL).split("\n\n"):
        if paragraph.strip() and not paragraph.lstrip("\n").startswith(_NOT_PROSE):
            said = _plain(paragraph)
            found = _SENTENCE.match(said)
            sentence = (found[1] if found else said).strip("*").rstrip(":")
            return sentence if len(sentence) <= _MOST else f"{sentence[:_MOST].rpartition(' ')[0]} ..."
    return ""


def _plain(text: str) -> str:
    return " ".join(_LINK.sub(r"\1", text).split())


def navigation(settings: Path) -> list[Entry]:
    """The navigation of the site, which is its order of reading."""
    nav: list[Entry] = tomllib.loads(settings.read_text(encoding="utf-8"))["project"]["nav"]
    return nav


def write(docs: Path, site: Path, nav: Sequence[Entry]) -> list[str]:
    """Write the pages and their list into a built site; the pages that the site lacks."""
    texts = pages(docs)
    for name, text in texts.items():
        file = site / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (site / LIST).write_text(listing(texts, nav), encoding="utf-8")
    return [name for name in texts if not (site / name).with_suffix(".html").is_file()]


if __name__ == "__main__":
    lacking = write(DOCS, SITE, navigation(SETTINGS))
    for page in lacking:
        print(f"the site has no page for docs/{page}", file=sys.stderr)
    sys.exit(1 if lacking else 0)
