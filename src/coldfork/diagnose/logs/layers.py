"""Strips a log, layer by layer, down to its text: removes prefixes, quotes, numbers, indentation and cuts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from coldfork.diagnose.logs import prefixes
from coldfork.diagnose.logs.envelopes import opened, parted
from coldfork.diagnose.logs.notations import rewritten
from coldfork.diagnose.logs.records import NOBODY, LogLine, RawLine, Speaker
from coldfork.diagnose.logs.tracebacks import LANDMARK, frame, is_begun, is_named_error, joined

_MOST_LAYERS = 6
_LONGEST = 4000
_LONGEST_JOINED = 64 * 1024
"""The most text that rows may be joined into; a whole log may be on one line, with the error at its end."""
_FENCE = re.compile(r"^\s*(?:```+|~~~+)[\w.+-]*$")
_MARKS = re.compile(r"^[>#|*;%\t !/\u2502\u2503-]+")
"""The marks at the beginning of comments, quotes, lists and indented lines."""
_LABEL = re.compile(r"[A-Za-z][\w./-]*(?:[>|:#$]+|\s[>|]+) ")
"""The name of the writer, before every line."""
_FEWEST_LABELLED = 4
_COMMENT = re.compile(r"^\s*(?:>|#|//|\*|;|%|\||!)+ ?")
_MOSTLY = 0.8
_SIDES = frozenset("\u2502\u2503\u256e\u256f\u2510\u2518\u2513\u251b")
_NARROWEST = 40
_FILLED = " " * 8
_WIDEST = 400
_FEWEST = 2
_SHARE = 0.08
"""If more than this share of all rows has the maximum length, lines were cut there."""
#: Lines that begin in one of these ways never continue another line.
_BEGINS = re.compile(
    r'Traceback \(|Process [\w:.-]+:$|\s*File "|During handling of|The above exception'
    r"|\(\w+[ \w]*=|\[[a-z_]+\d+\]:|\[?\d{4}-\d\d-\d\d|(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning):"
)
_INNER = re.compile(r"\\n|File \".*File \"")
"""Lost or escaped line ends within a line."""
_SPELLED = re.compile(r"(?:#033|\\x1b|\\033|\^\[)\[")
_HEADED = re.compile(r'Traceback \(|Process [\w:.-]+:$|File "')


@dataclass(frozen=True, slots=True)
class _Row:
    """A row being stripped: the process that wrote it, its remaining text, and its width with the prefix."""

    number: int
    speaker: Speaker
    text: str
    width: int
    bare: bool = True
    outer: Speaker = NOBODY
    """The writer, according to the layers removed before this one."""


def peeled(lines: Iterable[tuple[int, str]]) -> list[LogLine]:
    """Return the lines that processes wrote, stripped of every layer around them in a file."""
    rows = [_Row(number, NOBODY, text, len(text)) for number, text in lines]
    if rows and not rows[-1].text:
        rows.pop()
    patient = True
    for layer in range(_MOST_LAYERS):
        before = _said(rows)
        rows = _opened(rows, patient=patient)
        inner = any(_INNER.search(row.text) for row in rows)
        whole = not inner or _width(rows) is None
        rows = _unnumbered(_parted(rows) if inner and whole else rows)
        unmarked = _unmarked(rows)
        rows = unmarked if unmarked is rows else _unnumbered(unmarked)
        rows = _inherited(_unprefixed(rows, whole=whole))
        # Rows are joined only once for each layer, because a joined row may happen to have the width of a cut
        # row.
        if layer > 0 and _said(rows) == before:
            if not patient or not any('{"' in row.text for row in rows):
                break
            patient = False
            continue
        rows = _unwrapped(rows)
    return list(_as_python(rows))


def _said(rows: Iterable[_Row]) -> list[tuple[Speaker, str]]:
    return [(row.speaker, row.text) for row in rows]


def _opened(rows: Sequence[_Row], *, patient: bool) -> list[_Row]:
    found: list[_Row] = []
    if len(rows) > _FEWEST and not any(row.text.strip() for row in rows[1::2]):
        rows = rows[::2]
    said = [row.text for row in rows if row.text]
    padded = all(text[-1] == " " for text in said)
    behind = (
        min((len(text) - len(text.rstrip(" ")) for text in said if text.strip()), default=0) if padded else 0
    )
    for row in rows:
        text = row.text[: len(row.text) - behind] if behind else row.text
        for part in opened(text, patient=patient):
            if _FENCE.match(part) is None:
                # Colour codes count only if they are spelled out as text, as by some loggers.
                spelled = "[" in text and _SPELLED.search(text) is not None
                width = len(text) if spelled else len(part)
                if part is text and part is row.text and row.width == width:
                    found.append(row)  # most rows end here; this avoids copying a large log
                else:
                    found.append(replace(row, text=part[:_LONGEST_JOINED], width=width))
    return found


def _parted(rows: Iterable[_Row]) -> list[_Row]:
    """Return the rows; a row into which several lines were joined is split."""
    return [
        row if part is row.text else replace(row, text=part[:_LONGEST], width=len(part))
        for row in rows
        for part in (parted(row.text) if _INNER.search(row.text) else (row.text,))
    ]


def _unnumbered(rows: list[_Row]) -> list[_Row]:
    lines = [RawLine(row.number, row.text) for row in rows]
    without = prefixes.unnumbered(lines)
    if without is lines:
        return rows
    return [
        replace(row, text=line.text, width=len(line.text)) for row, line in zip(rows, without, strict=True)
    ]


def _unmarked(rows: list[_Row]) -> list[_Row]:
    """Return the rows without indentation, and without a mark such as `#` or `>` that begins them all."""
    said = [row.text for row in rows if row.text.strip()]
    shared = _begin_alike(min(said), max(said)) if said else ""
    label = _LABEL.match(shared) if len(set(said)) >= _FEWEST_LABELLED else None
    if label is not None:
        who = Speaker(label[0].strip())
        return [
            replace(
                row,
                text=row.text[label.end() :],
                speaker=row.speaker if row.speaker.known else who,
                bare=False,
            )
            for row in rows
        ]
    first = _MARKS.match(shared)
    if first is None:
        return rows
    shared = first[0]
    mark = _COMMENT.match(shared)
    length = len(shared) if mark is None else len(mark[0])
    if mark is None:
        # The two columns by which Python indents calls are not part of the common indentation.
        outermost = min(
            (_indent(t) for t in said if frame(t, 0) is not None and '  File "' in t), default=None
        )
        headed = any("Traceback (most" in text and _indent(text) == length for text in said)
        length -= 2 if outermost == length and not headed else 0
    if length <= 0:
        return rows
    return [replace(row, text=row.text[length:], width=len(row.text[length:])) for row in rows]


def _begin_alike(one: str, other: str) -> str:
    length = next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    return one[:length]


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _unprefixed(rows: list[_Row], *, whole: bool) -> list[_Row]:
    """Return the rows without prefixes; if lines were cut, remove only a prefix that most rows share."""
    split = [(row, *prefixes.split(row.text)) for row in rows]
    counts = [elements for row, _, _, elements in split if row.text.strip()]
    prefixed = [elements for elements in counts if elements]
    shared = min(prefixed, default=0)
    most = len(prefixed) >= _MOSTLY * len(counts)
    if not whole and not most:
        return rows
    uneven = most and shared < max(prefixed, default=0)
    if uneven:
        # One log collector wrote the prefix that all rows share; any other prefix belongs to another layer.
        split = [(row, *prefixes.split(row.text, shared)) for row in rows]
    tight = {
        _shape(row.text, said)
        for row, _, said, elements in split
        if elements and said and row.text[-len(said) - 1] != " "
    }
    found = []
    for row, who, said, elements in split:
        if tight and elements and _shape(row.text, said) in tight and row.text[-len(said) - 1] == " ":
            said = f" {said}"  # this prefix ends without a blank, so the first blank belongs to the text
        if elements == 0 and row.bare and row.outer == row.speaker:
            found.append(row)
            continue
        speaker = _both(row.speaker, who) if who.known else row.speaker
        found.append(_Row(row.number, speaker, said, row.width, elements == 0, row.speaker))
    if uneven:
        return found
    calls = [LANDMARK.match(row.text) for row in found if 'File "' in row.text]
    before = [match["prefix"] for match in calls if match is not None]
    patterns = prefixes.learned(before, [row.text for row in found]) if any(before) else ()
    return [_stripped(row, patterns) for row in found] if patterns else found


def _shape(text: str, said: str) -> str:
    """Return the prefix of a row, up to its remaining text, with every number replaced by 0."""
    return re.sub(r"\d+", "0", text[: len(text) - len(said)].rstrip())


def _both(one: Speaker, other: Speaker) -> Speaker:
    """Return the writer of a line according to two nested prefixes; the inner one takes precedence."""
    return Speaker(other.name or one.name, other.pid or one.pid) if one.known else other


def _stripped(row: _Row, patterns: Iterable[re.Pattern[str]]) -> _Row:
    for pattern in patterns:
        match = pattern.match(row.text)
        if match is not None:
            who = row.speaker if row.speaker.known else Speaker(match[0].strip() or None)
            return replace(row, speaker=who, text=row.text[match.end() :], bare=False)
    return row


def _inherited(rows: Sequence[_Row]) -> list[_Row]:
    """Return the rows; one without a prefix belongs to the process whose traceback began above it."""
    found: list[_Row] = []
    begun: _Row | None = None
    if len(rows) > 1 and rows[0].bare and not rows[1].bare and frame(rows[0].text, 0) is not None:
        # The log was copied from the middle of a line, so its first row lacks the prefix.
        rows = [replace(rows[0], speaker=rows[1].speaker, bare=False), *rows[1:]]
    for row in rows:
        goes_on = row.bare and row.text[:2] == "  "
        if row.bare and found and row.outer == found[-1].outer and _is_rest(row.text, found[-1]):
            if is_begun(found[-1].text):
                found[-1] = replace(found[-1], text=joined(found[-1].text, row.text))
            else:
                found.append(replace(row, speaker=found[-1].speaker))
            continue
        inherits = goes_on and begun is not None and begun.outer == row.outer
        if not goes_on:
            is_part = row.text[:2] == "  " or "Traceback (most recent call last)" in row.text
            begun = row if is_part and not row.bare else None
        found.append(replace(row, speaker=begun.speaker) if inherits and begun is not None else row)
    return found


def _is_rest(text: str, above: _Row) -> bool:
    """Return whether a line without a prefix continues the line above, which a console wrapped at a blank."""
    if not above.speaker.known or not text.strip() or text[:1] == " ":
        return False
    if not above.text.strip():
        return not above.bare and _HEADED.match(text) is None
    return _BEGINS.match(text) is None and (is_begun(above.text) or is_named_error(above.text))


def _unwrapped(rows: list[_Row]) -> list[_Row]:
    """Return the rows, joining each that was cut at the common width with its continuation."""
    width = _width(rows)
    if width is None:
        return _measured(rows)
    # A terminal cuts lines together with their prefixes; otherwise each piece has its own prefix.
    within = not any(
        below.bare for row, below in pairwise(rows) if row.width == width and not _is_whole(row.text)
    )
    found: list[_Row] = []
    is_cut = False
    for row in rows:
        goes_on = is_cut and (within or row.bare) and not _is_new(row.text, behind=found[-1].text)
        if goes_on and (row.bare or row.speaker == found[-1].speaker):
            found[-1] = replace(found[-1], text=(found[-1].text + row.text)[:_LONGEST_JOINED])
        else:
            found.append(row)
        is_cut = row.width == width and not _is_whole(row.text)
    return _measured(found)


def _measured(rows: Iterable[_Row]) -> list[_Row]:
    return [
        row
        if row.width == len(row.text)
        else _Row(row.number, row.speaker, row.text, len(row.text), row.bare, row.outer)
        for row in rows
    ]


def _is_new(text: str, behind: str) -> bool:
    """Return True if a row begins a new line, although the row before it is as long as the cut ones."""
    if _BEGINS.match(text):
        return bool(behind.strip()) and "\\n" not in behind
    # Only the source line below a frame is indented this far, so the row is new.
    return text.startswith("    ") and frame(behind, 0) is not None


def _width(rows: Sequence[_Row]) -> int | None:
    """Return the width at which lines were cut; None if they were not."""
    rows = [row for row in rows if not _is_whole(row.text)]
    longest = max((row.width for row in rows), default=0)
    cut = [row.text for row in rows if row.width == longest]
    # Two workers that report the same error write lines of the same length, although neither was cut.
    wrapped = len(set(cut)) >= _FEWEST and len(cut) >= _SHARE * len(rows)
    return longest if wrapped and _NARROWEST <= longest <= _WIDEST else None


def _is_whole(text: str) -> bool:
    """Return whether a row was not cut: it was padded, belongs to a panel of that width, or is JSON."""
    if text.endswith(_FILLED):
        return True
    last = text.rstrip()[-1:]
    return last in _SIDES or (last == "}" and '{"' in text)


def _as_python(rows: Iterable[_Row]) -> Iterator[LogLine]:
    """Yield the lines of each process, rewritten to Python's notation and indentation."""
    spoken: dict[Speaker, list[tuple[int, RawLine]]] = {}
    for place, row in enumerate(rows):
        spoken.setdefault(row.speaker, []).append((place, RawLine(row.number, row.text.rstrip())))
    found: list[tuple[int, LogLine]] = []
    for speaker, said in spoken.items():
        places = {id(line): place for place, line in said}
        place = said[0][0]
        for line in dedented(rewritten([line for _, line in said])):
            place = places.get(id(line), place)
            found.append((place, LogLine(line.number, speaker, line.text)))
    found.sort(key=lambda entry: entry[0])
    return (line for _, line in found)


def dedented(lines: Sequence[RawLine]) -> Iterator[RawLine]:
    """Yield the lines, with indented tracebacks moved back to the left."""
    depth = 0
    for line in lines:
        text = line.text
        if not text.strip():
            yield line
            continue
        indent = _indent(text)
        if indent < depth:
            depth = 0
        if text.startswith("Traceback (most", indent):
            depth = indent
        elif depth == 0 and indent > 2 and text.startswith('File "', indent):
            depth = indent - 2
        yield RawLine(line.number, text[depth:]) if depth else line
