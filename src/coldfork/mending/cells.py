"""Writes fixes into a notebook's cells, leaving the rest of its JSON unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from json import JSONDecoder

from coldfork.mending.text import CannotMend
from coldfork.model.causes import Edit
from coldfork.source.files import notebooks
from coldfork.source.files.notebooks import Notebook

_BLANKS = re.compile(r"[ \t\r\n]*")
_value = JSONDecoder().raw_decode


def written(raw: bytes, edits: Iterable[Edit]) -> bytes:
    """Return a notebook file with these edits, whose line numbers count through all code cells."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise CannotMend("its JSON is not in UTF-8") from None
    notebook = notebooks.read(raw)
    by_cell: dict[int, list[Edit]] = {}
    for edit in edits:
        number, _ = notebook.place(edit.line)
        by_cell.setdefault(number, []).append(edit)
    spans = dict(_sources(text))
    for number in sorted(by_cell, reverse=True):
        start, end = spans[number]
        old, _ = _value(text, start)
        parts = old if isinstance(old, list) else [old]
        new = _edited("".join(parts), number, notebook, by_cell[number])
        text = text[:start] + _laid_out(new, text[start:end], text.isascii()) + text[end:]
    return text.encode("utf-8")


def _sources(text: str) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the number of each cell, and where its source begins and ends in the JSON."""
    cells = next(start for key, start, _ in _members(text, _skip(text, 0)) if key == "cells")
    for number, (start, _) in enumerate(_elements(text, cells), 1):
        for key, first, last in _members(text, start) if text[start] == "{" else ():
            if key == "source":
                yield number, (first, last)


def _members(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """Yield the keys of a JSON object, and where each value begins and ends."""
    at = _skip(text, start + 1)
    while text[at] != "}":
        key, at = _value(text, at)
        first = _skip(text, _skip(text, at) + 1)
        _, last = _value(text, first)
        yield key, first, last
        at = _next(text, last)


def _elements(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield where each element of a JSON list begins and ends."""
    at = _skip(text, start + 1)
    while text[at] != "]":
        _, last = _value(text, at)
        yield at, last
        at = _next(text, last)


def _next(text: str, end: int) -> int:
    """Return where the next member or element begins, or the closing bracket is."""
    at = _skip(text, end)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return at if found is None else found.end()


def _edited(cell: str, number: int, notebook: Notebook, edits: list[Edit]) -> str:
    """Return the text of a cell after the edits."""
    if "\r" in cell:
        raise CannotMend("a line of the cell ends with a carriage return")
    seen = notebook.source.decode("utf-8", "replace").split("\n")
    first = next(line for line, each in notebook.cells if each == number)
    lines = cell.split("\n")
    new = cell
    for edit in sorted(edits, reverse=True):
        start, end = (
            _offset(lines, line - first, column)
            for line, column in ((edit.line, edit.column), (edit.end_line, edit.end_column))
        )
        rows = range(edit.line, min(edit.end_line, first + len(lines) - 1) + 1)
        if any(seen[row - 1] != lines[row - first] for row in rows):
            raise CannotMend(f"a magic of cell {number} is inside the edit")
        new = new[:start] + edit.text + new[end:]
    return new if cell.endswith("\n") else new.removesuffix("\n")


def _offset(lines: list[str], row: int, column: int) -> int:
    """Return the offset of a place in a cell's text; the beginning of the next cell counts as the end."""
    if row > len(lines) or (row == len(lines) and column > 1):
        raise CannotMend("it reaches into another cell")
    return min(sum(len(line) + 1 for line in lines[:row]) + column - 1, sum(map(len, lines)) + len(lines) - 1)


def _laid_out(cell: str, old: str, ascii_only: bool) -> str:
    """Return the text of a cell in the form that the JSON used for it: one string, or a list of lines."""
    if not old.startswith("["):
        return json.dumps(cell, ensure_ascii=ascii_only)
    spans = list(_elements(old, 0))
    if not spans or not cell:
        return json.dumps(cell.splitlines(keepends=True), ensure_ascii=ascii_only)
    opening, closing = old[: spans[0][0]], old[spans[-1][1] :]
    between = old[spans[0][1] : spans[1][0]] if len(spans) > 1 else f",{opening[1:] or ' '}"
    lines = (json.dumps(line, ensure_ascii=ascii_only) for line in re.findall(r"[^\n]*\n|[^\n]+", cell))
    return opening + between.join(lines) + closing
