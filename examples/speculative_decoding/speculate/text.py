"""The text that the models learn, coldfork's own reasons for its rules, and its pieces, the tokens."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

PAGES = Path(__file__).resolve().parents[3] / "docs" / "rules"
REASON = re.compile(r"^## Why is this bad\n\n(.*?)\n\n", re.DOTALL | re.MULTILINE)
VOCABULARY = 256


@cache
def corpus(limit: int = 2_000) -> str:
    """The beginning of the reasons, one after the other; so short that a small model learns it by heart."""
    pages = (page.read_text(encoding="utf-8") for page in sorted(PAGES.glob("*.md")))
    reasons = (" ".join(found[1].split()) for page in pages if (found := REASON.search(page)))
    return "\n".join(reasons)[:limit]


@cache
def vocabulary() -> tuple[bytes, ...]:
    """The bytes of printable text, and what is joined most often in the corpus, but never across words."""
    pieces = [bytes([code]) for code in (10, *range(32, 127))]
    tokens = [pieces.index(bytes([code])) for code in corpus().encode()]
    while len(pieces) < VOCABULARY:
        pairs = Counter(pair for pair in pairwise(tokens) if not pieces[pair[1]].startswith(b" "))
        best = pairs.most_common(1)[0][0]
        pieces.append(pieces[best[0]] + pieces[best[1]])
        tokens = _joined(tokens, best, len(pieces) - 1)
    return tuple(pieces)


def encode(text: str) -> list[int]:
    """The longest known pieces that the text begins with, one after the other."""
    left = text.encode("ascii", "replace")
    tokens: list[int] = []
    while left:
        best = max((piece for piece in vocabulary() if left.startswith(piece)), key=len)
        tokens.append(vocabulary().index(best))
        left = left[len(best) :]
    return tokens


def decode(tokens: Sequence[int]) -> str:
    """Return the text of some tokens."""
    return b"".join(vocabulary()[token] for token in tokens).decode()


def _joined(tokens: list[int], pair: tuple[int, int], new: int) -> list[int]:
    joined: list[int] = []
    for token in tokens:
        if joined and (joined[-1], token) == pair:
            joined[-1] = new
        else:
            joined.append(token)
    return joined
