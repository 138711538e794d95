"""Jupyter notebooks as one Python source: the code cells in order, with IPython's own syntax blanked."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any, NamedTuple

_KEEPS_ITS_BODY = frozenset({
    "capture", "memit", "mprun", "prun", "scalene", "time", "timeit", "snakeviz", "coldfork", "debug",
})  # fmt: skip
"""Cell magics that run the rest of the cell as Python."""
_STATEMENT = re.compile(rb"^[ \t]*%(?:time|timeit|prun|memit|mprun)\b(?:[ \t]+-\S+(?:[ \t]+\d+)?)*[ \t]*")
"""Line magics that run the rest of the line as Python."""
_MAGIC = re.compile(rb"^[ \t]*(?:%|!|\?|\w[\w.]*[ \t]*=[ \t]*[%!]|[\w.]+\?\??[ \t]*$)")
_PYTHON = ("python", "ipython", "xpython", "pyodide")


class NotANotebook(Exception):
    """Raised if a file is not a notebook that runs Python; the message gives the reason."""


class Notebook(NamedTuple):
    """The Python source of a notebook, and the lines at which its cells begin."""

    source: bytes
    cells: tuple[tuple[int, int], ...]
    """For each code cell, its first line in the source, and its number among all cells."""

    def place(self, line: int) -> tuple[int, int]:
        """Return the cell that contains a line of the source, and the line within the cell."""
        found = (1, 1)
        for first, number in self.cells:
            if first > line:
                break
            found = (number, line - first + 1)
        return found


@lru_cache(maxsize=2)  # reports ask for one line at a time
def read(raw: bytes) -> Notebook:
    """Return the code cells of a notebook, joined into one source."""
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as problem:
        raise NotANotebook(f"this is not the JSON of a notebook: {problem}") from None
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        old = isinstance(document, dict) and "worksheets" in document
        if old:
            raise NotANotebook("a notebook of format 3 or older; nbconvert can upgrade it")
        raise NotANotebook("this JSON is not a notebook: it has no cells")
    language = _language(document.get("metadata"))
    if language and not language.lower().startswith(_PYTHON):
        raise NotANotebook(f"a notebook whose language is {language}, not Python")
    lines: list[bytes] = []
    cells: list[tuple[int, int]] = []
    for number, cell in enumerate(document["cells"], 1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            cells.append((len(lines) + 1, number))
            lines += _python(_text(cell.get("source")))
    return Notebook(b"".join(line + b"\n" for line in lines), tuple(cells))


def _language(metadata: Any) -> str:
    """Return the language of the notebook's kernel; empty if it is not stated."""
    for holder, key in (("language_info", "name"), ("kernelspec", "language")):
        held = metadata.get(holder) if isinstance(metadata, dict) else None
        if isinstance(held, dict) and isinstance(held.get(key), str):
            return str(held[key])
    return ""


def _text(source: Any) -> bytes:
    parts = source if isinstance(source, list) else [source]
    text = "".join(part for part in parts if isinstance(part, str))
    return text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "surrogatepass")


def _python(cell: bytes) -> list[bytes]:
    """Return the lines of a cell, with blanks of the same width in place of lines that are not Python."""
    lines = cell.split(b"\n")
    first = next((index for index, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return lines
    if lines[first].startswith(b"%%"):
        magic = lines[first][2:].split()[:1]
        if not magic or magic[0].decode("utf-8", "replace") not in _KEEPS_ITS_BODY:
            return [_blank(line) for line in lines]
        lines[first] = _blank(lines[first])
    return _without_magics(lines)


def _without_magics(lines: list[bytes]) -> list[bytes]:
    """Blank the lines of magics, shell commands and help, with continuations; `pass` keeps blocks valid."""
    found: list[bytes] = []
    continued = False
    state = _Open()
    for line in lines:
        runs = None if continued or state else _STATEMENT.match(line)
        if runs is not None and line[runs.end() :].strip():
            line = _as_statement(line, runs.end())
        magic = continued or (not state and _MAGIC.match(line) is not None)
        if magic:
            continued = line.rstrip().endswith(b"\\")
            indent = line[: len(line) - len(line.lstrip())]
            found.append((indent + b"pass" if len(line) >= len(indent) + 4 else line[:0]).ljust(len(line)))
            continue
        state = _open_behind(line, state)
        found.append(line)
    return found


def _as_statement(line: bytes, start: int) -> bytes:
    """Return the code that a line magic runs, in the same columns, with `if 1:` in place of the magic."""
    indent = line[: len(line) - len(line.lstrip())]
    return indent + b"if 1:".ljust(start - len(indent)) + line[start:]


class _Open(NamedTuple):
    """The quote and the number of brackets that are still open at the end of a line."""

    quote: bytes = b""
    brackets: int = 0
    continued: bool = False

    def __bool__(self) -> bool:
        return bool(self.quote or self.brackets > 0 or self.continued)


_TOKENS = re.compile(rb"\\.|\"\"\"|'''|#.*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[()\[\]{}]", re.DOTALL)


def _open_behind(line: bytes, before: _Open) -> _Open:
    """Return the quote and brackets that are open after a line, given those open before it."""
    quote, brackets, position = before.quote, before.brackets, 0
    while position < len(line):
        if quote:
            end = line.find(quote, position)
            if end < 0:
                return _Open(quote, brackets)
            position, quote = end + 3, b""
            continue
        matched = _TOKENS.search(line, position)
        if matched is None:
            break
        position = matched.end()
        if matched[0] in (b'"""', b"'''"):
            quote = matched[0]
        elif matched[0] in (b"(", b"[", b"{"):
            brackets += 1
        elif matched[0] in (b")", b"]", b"}"):
            brackets = max(0, brackets - 1)
    return _Open(quote, brackets, not quote and line.endswith(b"\\"))


def _blank(line: bytes) -> bytes:
    return b" " * len(line)
