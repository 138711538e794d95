"""Read the imports that are written as nearly all are, which is sooner done than parsing them."""

from __future__ import annotations

import re
from functools import cache
from keyword import kwlist
from sys import intern
from typing import NamedTuple

_WORD = rb"[A-Za-z_]\w*+"
_PATH = rb"%b(?:\.%b)*+" % (_WORD, _WORD)
_AS = rb"(?: as %b)?+" % _WORD
_GAP = rb"(?:[ \t\n]++|\#[^\n]*+)*+"
_COMMENT = re.compile(rb"#[^\n]*")
_KEYWORDS = frozenset(word.encode() for word in kwlist)

Names = tuple[tuple[str, str | None], ...]
#: First and last line, the module after `from`, the dots before it (-1 for `import`), names with aliases.
PlainImport = tuple[int, int, str | None, int, Names]


class Found(NamedTuple):
    """An import that was read: what it names, where its parenthesis (if any) closes, and where it ends."""

    module: str | None
    level: int
    names: Names
    closed: int
    end: int


@cache
def _pattern() -> re.Pattern[bytes]:
    """Names, dots and commas, and comments between them. Where the skeleton is compiled nobody asks."""
    return re.compile(
        rb"(?:import (?P<modules>%(path)b%(as)b(?:, ?%(path)b%(as)b)*+)"
        rb"|from (?P<dots>\.*+)(?P<source>%(path)b)?+ import "
        rb"(?:(?P<names>%(word)b%(as)b(?:, ?%(word)b%(as)b)*+)"
        rb"|\(%(gap)b(?P<listed>%(word)b%(as)b%(gap)b(?:,%(gap)b%(word)b%(as)b%(gap)b)*+),?+%(gap)b(?P<end>\))))"
        rb"[ \t]*+(?:\#[^\n]*+)?+\n" % {b"word": _WORD, b"path": _PATH, b"as": _AS, b"gap": _GAP}
    )


def plain_import(source: bytes, start: int, end: int) -> Found | None:
    """The import statement that begins at the start of a line; None for anything that is not so plain."""
    found = _pattern().match(source, start, end)
    if found is None:
        return None
    dots, module = found["dots"], found["source"]
    level = -1 if dots is None else len(dots)
    if (level == 0 and not module) or module == b"__future__":
        return None
    if module and not _KEYWORDS.isdisjoint(module.split(b".")):
        return None
    names = _names(_COMMENT.sub(b"", found["modules"] or found["names"] or found["listed"]))
    if names is None:
        return None
    closed = max(found.start("end"), start)
    return Found(module.decode() if module else None, level, names, closed, found.end())


def _names(text: bytes) -> Names | None:
    """Names and aliases; None where one of them is a keyword."""
    names: list[tuple[str, str | None]] = []
    for part in text.split(b","):
        words = part.split()
        if not _KEYWORDS.isdisjoint((*words[0].split(b"."), *words[2:])):
            return None
        names.append((intern(words[0].decode()), intern(words[2].decode()) if len(words) > 1 else None))
    return tuple(names)
