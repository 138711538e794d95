"""Recognises messages of coldfork's guard and of `coldfork run` in a log that name what woke a device."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coldfork.diagnose.logs.records import LogLine

_WOKEN = re.compile(
    r"^\s*(?P<accelerator>[\w-]+) was woken by (?:(?P<call>\S+) in )?(?P<module>\S+?)"
    r"(?: {2}(?P<path>\S.*?)(?::(?P<line>\d+))?)?, on \S+"
)
_STEP = re.compile(r"^\s+\d+\. (?:imports )?(?P<module>[\w.]+)(?: {2,}(?P<path>\S.*?)(?::(?P<line>\d+))?)?$")
_VERDICT = re.compile(r"(?:^|: )poisoned: (?P<accelerator>[\w-]+) was awake in process (?P<pid>\d+)")
_ARROW = re.compile(r"^\s*--> (?P<path>\S.*?)(?::(?P<line>\d+))?(?: {2}.*)?$")
_RECORDED = re.compile(r"^(?:coldfork: )?recorded in (?P<path>\S.*)$")


@dataclass(frozen=True, slots=True)
class Note:
    """One observation by coldfork of the line that woke an accelerator."""

    line_number: int
    text: str
    accelerator: str
    module: str | None
    path: str | None
    line: int | None
    call: str | None
    chain: tuple[str, ...]


def notes(lines: Sequence[LogLine]) -> Iterator[Note]:
    """Yield coldfork's own notes in this log about lines that woke a device."""
    for index, line in enumerate(lines):
        if "was woken by" in line.text and (match := _woken(lines[index : index + 2])) is not None:
            yield Note(
                line.number,
                line.text.strip(),
                match["accelerator"],
                match["module"],
                match["path"],
                int(match["line"]) if match["line"] else None,
                match["call"],
                tuple(_chain(lines[index + 1 :])),
            )
        elif (verdict := _VERDICT.search(line.text)) is not None and index + 1 < len(lines):
            arrow = _ARROW.match(lines[index + 1].text)
            if arrow is not None:
                chain = tuple(_chain(lines[index + 2 :]))
                number = int(arrow["line"]) if arrow["line"] else None
                path = arrow["path"].partition("  (")[0]
                yield Note(
                    line.number, line.text.strip(), verdict["accelerator"], None, path, number, None, chain
                )


def _woken(lines: Sequence[LogLine]) -> re.Match[str] | None:
    """Return the match of a note in the first of these lines, or in both if a console wrapped the note."""
    wrapped = " ".join(line.text.strip() for line in lines)
    return _WOKEN.match(lines[0].text) or _WOKEN.match(wrapped)


def recordings(lines: Sequence[LogLine]) -> Iterator[str]:
    """Yield the recording files that this log names."""
    for line in lines:
        if "recorded in" in line.text and (match := _RECORDED.match(line.text)) is not None:
            yield match["path"]


def _chain(lines: Sequence[LogLine]) -> Iterator[str]:
    for line in lines[:40]:
        match = _STEP.match(line.text)
        if match is None:
            if re.match(r"^\s+\d+\. ", line.text):
                continue
            return
        place = match["path"] or ""
        yield (
            f"{match['module']}  {place}:{match['line']}"
            if match["line"]
            else f"{match['module']}  {place}".rstrip()
        )
