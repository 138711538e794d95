"""The words that ask for a closer look at a source: most files hold none, and are spared it.

`native/skeleton.c` looks for the same words in a fraction of the time. Whoever changes one changes the other.
"""

from __future__ import annotations

from coldfork.source.syntax.native.compiled import compiled_words

#: What is looked for, in the order of the bits that stand for it.
WORDS = (b"__future__", b"lazy", b"global", b"coldfork:")
FUTURE, LAZY, GLOBAL, MARK = (1 << bit for bit in range(len(WORDS)))


def words(source: bytes) -> int:
    """Which of the words a source holds, a bit for each."""
    return interpreted_words(source) if compiled_words is None else compiled_words(source)


def interpreted_words(source: bytes) -> int:
    """The same in Python, for where nothing was compiled."""
    return sum(1 << bit for bit, word in enumerate(WORDS) if word in source)
