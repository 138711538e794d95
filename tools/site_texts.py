"""Lays the pages of the built site beside it as Markdown, and `llms.txt`, which lists them: `./dev docs`"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
DOCS, SITE = ROOT / "docs", ROOT / "site"
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


def pages(docs: Path) -> dict[str, str]:
    """The pages by their paths below the folder of the documentation."""
    found = sorted(docs.rglob("*.md"))
    return {file.relative_to(docs).as_posix(): file.read_text(encoding="utf-8") for file in found}


def listing(texts: Mapping[str, str]) -> str:
    """`llms.txt`: the pages in the order in which the first one names them, then the others by folder."""
    named = [FIRST, *(target for target in _targets(FIRST, texts[FIRST]) if target in texts)]
    first = list(dict.fromkeys(named))
    rest = [name for name in texts if name not in first]
    parts = [HEAD.format(sentence=_sentence(texts[FIRST])), _section("Begin here", first, texts)]
    for folder in dict.fromkeys(PurePosixPath(name).parent.as_posix() for name in rest):
        inside = [name for name in rest if PurePosixPath(name).parent.as_posix() == folder]
        inside.sort(key=lambda name: (not name.endswith(FIRST), name))
        parts.append(_section("More" if folder == "." else folder, inside, texts))
    return "\n".join(parts)


def _section(title: str, names: list[str], texts: Mapping[str, str]) -> str:
    lines = (f"- [{_title(texts[name])}]({name}): {_sentence(texts[name])}\n" for name in names)
    return f"## {title[:1].upper()}{title[1:]}\n\n{''.join(lines)}"


def _targets(name: str, text: str) -> Iterator[str]:
    """The pages that a page links to, by their paths."""
    for _, target in _LINK.findall(text):
        path = target.partition("#")[0]
        if path and "://" not in path:
            parts: list[str] = []
            for part in (*PurePosixPath(name).parent.parts, *PurePosixPath(path).parts):
                parts = parts[:-1] if part == ".." else [*parts, part]
            yield "/".join(parts)


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


def write(docs: Path, site: Path) -> list[str]:
    """Write the pages and their list into a built site; the pages that the site lacks."""
    texts = pages(docs)
    for name, text in texts.items():
        file = site / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (site / LIST).write_text(listing(texts), encoding="utf-8")
    return [name for name in texts if not (site / name).with_suffix(".html").is_file()]


if __name__ == "__main__":
    lacking = write(DOCS, SITE)
    for page in lacking:
        print(f"the site has no page for docs/{page}", file=sys.stderr)
    sys.exit(1 if lacking else 0)
