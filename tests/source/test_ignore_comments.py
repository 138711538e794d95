"""Which comments ask to be left alone, for which rules and why, and which lines they speak for."""

from __future__ import annotations

import pytest

from coldfork.source.syntax.summary import IgnoreMark, find_ignore_comments

MARKS = {
    "x = 1  # coldfork: ignore\n": IgnoreMark(1, 7, (), "", (1, 1)),
    "x = 1  # coldfork: ignore[one]\n": IgnoreMark(1, 7, ("one",), "", (1, 1)),
    "x = 1  # coldfork: ignore[one, two]\n": IgnoreMark(1, 7, ("one", "two"), "", (1, 1)),
    "x = 1  # coldfork: ignore[one,,two,]\n": IgnoreMark(1, 7, ("one", "two"), "", (1, 1)),
    "x = 1  # coldfork: ignore[] why\n": IgnoreMark(1, 7, (), "why", (1, 1)),
    "x = 1  # coldfork: ignore[one] measured\n": IgnoreMark(1, 7, ("one",), "measured", (1, 1)),
    "x = 1  # coldfork: ignore[one]: measured\n": IgnoreMark(1, 7, ("one",), "measured", (1, 1)),
    "x = 1  # coldfork: ignore[one] - mäßig\n": IgnoreMark(1, 7, ("one",), "mäßig", (1, 1)),
    "x = 1  #coldfork:ignore[one]\n": IgnoreMark(1, 7, ("one",), "", (1, 1)),
    "x = 1  # noqa # coldfork: ignore[one]\n": IgnoreMark(1, 7, ("one",), "", (1, 1)),
    "x = (  # coldfork: ignore\n    1\n)\n": IgnoreMark(1, 7, (), "", (1, 3)),
    "x = (\n    1  # coldfork: ignore\n)\n": IgnoreMark(2, 7, (), "", (1, 3)),
    "y = 1\n\n# coldfork: ignore\n\nx = (\n    1\n)\n": IgnoreMark(3, 0, (), "", (5, 7)),
    "if x:\n    # coldfork: ignore\n    y = 1\n": IgnoreMark(2, 4, (), "", (3, 3)),
    "def f():\n    y = 1  # coldfork: ignore\n    z = 2\n": IgnoreMark(2, 11, (), "", (2, 2)),
}


@pytest.mark.parametrize("source", MARKS)
def test_what_a_comment_asks_for(source: str) -> None:
    assert find_ignore_comments(source.encode()) == [MARKS[source]]


@pytest.mark.parametrize(
    "source",
    [
        "x = 1  # coldfork ignore\n",
        "x = 1  # coldfork: look\n",
        "x = '# coldfork: ignore'\n",
        "'''\n# coldfork: ignore\n'''\n",
        "x = (  # coldfork: ignore\n",
        "x = 1\n",
    ],
)
def test_what_asks_for_nothing(source: str) -> None:
    assert find_ignore_comments(source.encode()) == []


def test_every_comment_counts() -> None:
    found = find_ignore_comments(b"x = 1  # coldfork: ignore[a]\ny = (  # coldfork: ignore[b]\n    1\n)\n")
    assert [(mark.line, mark.rules, mark.covers) for mark in found] == [
        (1, ("a",), (1, 1)),
        (2, ("b",), (2, 4)),
    ]
