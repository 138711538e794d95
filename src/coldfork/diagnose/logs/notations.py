"""Converts other notations of a traceback to Python's: rich's panels, IPython's and pytest's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from coldfork.diagnose.logs.records import RawLine
from coldfork.diagnose.logs.tracebacks import frame

_PANEL = re.compile(r"^\s*[\u2502\u2503] ?(?P<text>.*?)\s*[\u2502\u2503]\s*$")
_EDGE = re.compile(r"^\s*[\u256d\u250c\u250f\u2570\u2514\u2517][\u2500\u2501]{2,}")
_TITLE = re.compile(r"Traceback \(most recent call last\)")
_PANEL_PLACE = re.compile(r"^(?P<path>\S.*?):(?P<line>\d+) in (?P<function>\S.*)$")
_SHOWN = re.compile(r"^\s*\u2771 *(?P<line>\d+) (?P<source>.*)$")
_GUIDES = re.compile(r"[\u2502\u2506\u250a]")
_MOST_ROWS = 4
"""A path that a panel has wrapped takes at most this many rows."""

_NOTEBOOK = re.compile(
    r"^(?P<path><ipython-input-[\w-]+>|(?:[A-Za-z]:|~)?[/\\.\w][^\s\"':]*\.pyx?) in "
    r"(?P<function><?[\w.]+>?|<cell line: \d+>)(?:\(.*\))?$"
)
_CELL = re.compile(
    r"^(?:Cell|Input) In ?\[(?P<cell>\d+)\](?:, line (?P<line>\d+))?(?:, in (?P<function><?[\w. :]+>?).*)?$"
)
_ARROW = re.compile(r"^-+> (?P<line>\d+) ?(?P<source>.*)$")
_LISTED = re.compile(r"^\d+(?: |$)")
_MOST_LISTED = 12

_RAISED = re.compile(
    r"^(?P<path>(?:[A-Za-z]:)?[\w./\\~@+-]+\.py):(?P<line>\d+): ?(?P<kind>[A-Za-z_][\w.]*)?$"
)
_CODE = re.compile(r"^>\s+(?P<source>\S.*)$")


def rewritten(lines: Sequence[RawLine]) -> list[RawLine]:
    """Return the lines, with every stack call rewritten in Python's notation."""
    found = list(lines)
    if any(
        line.text.startswith("E ") or (".py:" in line.text and _RAISED.match(line.text)) for line in found
    ):
        found = list(_of_pytest(found))
    if any("\u2502" in line.text or "\u2503" in line.text for line in found):
        found = list(_unboxed(found))
    if any("> " in line.text or " in " in line.text for line in found):
        found = list(_of_notebooks(found))
    return found


def _frame(number: int, path: str, line: str, function: str | None) -> RawLine:
    inside = f", in {function}" if function else ""
    return RawLine(number, f'  File "{path}", line {line}{inside}')


def _unboxed(lines: Sequence[RawLine]) -> Iterator[RawLine]:
    """Yield the lines, with rich's panels rewritten: a call's place and the code line at the arrow."""
    index = 0
    while index < len(lines):
        line = lines[index]
        if _EDGE.match(line.text) is not None:
            if _TITLE.search(line.text):
                yield RawLine(line.number, "Traceback (most recent call last):")
            index += 1
            continue
        row = _PANEL.match(line.text)
        if row is None:
            yield line
            index += 1
            continue
        used, made = _row(lines, index, row["text"].strip())
        yield from made
        index += used


def _row(lines: Sequence[RawLine], index: int, text: str) -> tuple[int, tuple[RawLine, ...]]:
    number = lines[index].number
    arrow = _SHOWN.match(text)
    if arrow is not None:
        return 1, (RawLine(number, f"    {_GUIDES.sub('', arrow['source']).strip()}"),)
    if not text or text[:1].isdigit() or text[:1] in "\u256d\u2570\u2502":
        return 1, ()
    joined = ""
    for used, row in _rows(lines, index):
        # A panel wraps at any character; if that is a blank, the blank is dropped.
        for candidate in (joined + row, f"{joined} {row}".strip()):
            place = _PANEL_PLACE.match(candidate)
            if place is not None and ".py" in place["path"]:
                return used, (_frame(number, place["path"], place["line"], place["function"]),)
        joined += row
    return 1, (RawLine(number, text),)


def _rows(lines: Sequence[RawLine], index: int) -> Iterator[tuple[int, str]]:
    """Yield the text rows of a panel from this line on, each with the number of lines read so far."""
    for used, line in enumerate(lines[index : index + 2 * _MOST_ROWS], 1):
        row = _PANEL.match(line.text)
        if row is not None and row["text"].strip():
            yield used, row["text"].strip()
        elif line.text.strip():
            return


def _of_notebooks(lines: Sequence[RawLine]) -> Iterator[RawLine]:
    """Yield the lines, with IPython's tracebacks rewritten: file, function, and the code line at the
    arrow.
    """
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        made, listed = _of_notebook(line, lines[index:])
        yield from made
        index += listed


def _of_notebook(line: RawLine, below: Sequence[RawLine]) -> tuple[tuple[RawLine, ...], int]:
    """Return the call and source that a line introduces, and how many code lines below it to skip."""
    text = line.text.strip()
    cell = _CELL.match(text)
    head = cell or _NOTEBOOK.match(text)
    is_call = head is not None or frame(line.text, line.number) is not None
    arrow, listed = _arrow(below) if is_call else (None, 0)
    if arrow is None and (cell is None or not cell["line"]):
        return (line,), 0
    source = (RawLine(line.number, f"    {arrow['source'].strip()}"),) if arrow is not None else ()
    if cell is not None:
        number = cell["line"] or (arrow["line"] if arrow is not None else "")
        call = _frame(line.number, f"In[{cell['cell']}]", number, cell["function"] or "<module>")
    elif head is not None and arrow is not None:
        call = _frame(line.number, head["path"], arrow["line"], head["function"])
    else:
        call = line
    return (call, *source), listed


def _arrow(lines: Sequence[RawLine]) -> tuple[re.Match[str] | None, int]:
    """Return the code line that an arrow points to, and the number of lines in the code listing."""
    arrow, listed = None, 0
    for line in lines[:_MOST_LISTED]:
        text = line.text.strip()
        found = _ARROW.match(text)
        if found is None and text and _LISTED.match(text) is None:
            break
        arrow = arrow or found
        listed += 1
    return arrow, listed if arrow is not None else 0


def _of_pytest(lines: Sequence[RawLine]) -> Iterator[RawLine]:
    """Yield the lines, with pytest's tracebacks rewritten, in which the place of a call or error follows
    below it.
    """
    index, source = 0, ""
    while index < len(lines):
        line = lines[index]
        run = _run(lines, index)
        if run:
            index += len(run)
            yield from _raised(lines, index, source)
            yield from run
            continue
        index += 1
        code = _CODE.match(line.text)
        source = code["source"] if code is not None else source
        place = _RAISED.match(line.text)
        if place is None or place["kind"]:
            yield line
            continue
        yield _frame(line.number, place["path"], place["line"], None)
        yield RawLine(line.number, f"    {source}")


def _run(lines: Sequence[RawLine], index: int) -> list[RawLine]:
    """Return the lines from here on that begin with pytest's `E`, without the `E` and their common
    indentation.
    """
    run = []
    for line in lines[index:]:
        if not line.text.startswith("E ") and line.text != "E":
            break
        run.append(RawLine(line.number, line.text[1:]))
    indent = min((len(line.text) - len(line.text.lstrip()) for line in run if line.text.strip()), default=0)
    return [RawLine(line.number, line.text[indent:]) for line in run] if indent >= 3 else []


def _raised(lines: Sequence[RawLine], index: int, source: str) -> Iterator[RawLine]:
    """Yield the place at which the error was raised, which pytest prints below the error."""
    for line in lines[index : index + 3]:
        place = _RAISED.match(line.text)
        if place is not None and place["kind"]:
            yield _frame(line.number, place["path"], place["line"], None)
            yield RawLine(line.number, f"    {source}")
        if line.text.strip():
            return
