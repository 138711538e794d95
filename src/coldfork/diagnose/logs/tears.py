"""Separates the pieces that several processes wrote to one line, because they printed at the same time.

Python writes the line of a call, and the header of a traceback, at once; it writes a source line, the markers
below it and the error piece by piece, so another process's line may begin in the middle of any of these.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from coldfork.diagnose.logs.records import Call, LogFrame, LoggedError, LogLine

_TORN = re.compile(
    r'^(?P<before>.*\S.*?)(?P<whole>  File "[^"]+", line \d+, in \S+|Traceback \(most recent call last\):)$'
    r"|^(?P<markers>[ ~^]*[~^])(?P<error>(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)(?:: .*)?)$"
)
_INTRODUCED = re.compile(r"(?:\s|[\"']|Original |Group )$")
"""The end of a text that may precede the header of a whole traceback."""
_WHOLE = ('File "', "Traceback (", "^")
_NEAR = 40
"""The most lines between the words of a torn error and the calls that belong to it."""


def separated(lines: Iterable[LogLine]) -> tuple[tuple[LogLine, ...], bool]:
    """Return the lines, each written by one process only, and whether any was torn."""
    found: list[LogLine] = []
    torn = False
    for line in lines:
        before, whole = _parted(line.text)
        if before:
            torn = True
            found += (replace(line, text=before), replace(line, text=whole))
        else:
            found.append(line)
    return tuple(found), torn


def _parted(text: str) -> tuple[str, str]:
    """Return the torn piece before a whole line, if there is one, and the line."""
    match = _TORN.match(text) if any(word in text for word in _WHOLE) else None
    if match is None:
        return "", text
    if match["error"]:
        return match["markers"], match["error"]
    introduced = match["whole"].startswith("T") and _INTRODUCED.search(match["before"])
    return ("", text) if introduced else (match["before"], match["whole"])


def reunited(errors: Sequence[LoggedError]) -> Iterator[LoggedError]:
    """Yield the errors, each with the whole stack that is scattered over the tracebacks of equal errors."""
    quoted = _quotations(errors)
    stacks: dict[int, tuple[LogFrame, ...]] = {}
    used = set[int]()
    for said in dict.fromkeys((error.speaker, error.kind, error.message) for error in errors if error.kind):
        speaker, kind, message = said
        equal = [
            e
            for e in errors
            if e.speaker == speaker and (not e.kind or (e.kind, e.message) == (kind, message))
        ]
        for group in _groups(equal):
            if any(error.kind for error in group):
                frames = _united([error.frames for error in group])
                stacks.update((id(error), frames) for error in group if error.kind)
                used.update(id(error) for error in group if not error.kind)
    for error in errors:
        if id(error) not in used:
            frames = stacks.get(id(error), error.frames)
            yield replace(error, frames=tuple(_quoting(call, quoted) for call in frames))


def _groups(errors: Sequence[LoggedError]) -> list[list[LoggedError]]:
    """Return the errors in groups whose stacks share calls, directly or through others."""
    groups: list[tuple[set[Call], list[LoggedError]]] = []
    for error in errors:
        calls = {frame.call for frame in error.frames}
        joined = [group for group in groups if not calls.isdisjoint(group[0])]
        groups = [group for group in groups if group not in joined]
        members = [*(other for _, group in joined for other in group), error]
        groups.append((calls.union(*(known for known, _ in joined)), members))
    return [group for _, group in groups]


def _united(stacks: Sequence[Sequence[LogFrame]]) -> tuple[LogFrame, ...]:
    """Return each call of these stacks once, after the calls that precede it in its own stack."""
    found: list[LogFrame] = []
    calls: list[Call] = []
    for stack in sorted(stacks, key=len, reverse=True):
        behind = 0
        for frame in stack:
            if frame.call in calls:
                behind = max(behind, calls.index(frame.call) + 1)
            else:
                found.insert(behind, frame)
                calls.insert(behind, frame.call)
                behind += 1
    return tuple(found)


def _quotations(errors: Iterable[LoggedError]) -> dict[tuple[str, int | None], Counter[str]]:
    """Return the source lines that the tracebacks quote for each place, and how often."""
    quoted: dict[tuple[str, int | None], Counter[str]] = {}
    for error in errors:
        for call in error.frames:
            if call.text:
                quoted.setdefault((call.path, call.line), Counter())[call.text.strip(" ^~")] += 1
    return quoted


def _quoting(call: LogFrame, quoted: dict[tuple[str, int | None], Counter[str]]) -> LogFrame:
    """Return the call with the source line that most tracebacks quote; a torn line has other text added."""
    texts = quoted.get((call.path, call.line))
    return (
        call if texts is None else replace(call, text=min(texts, key=lambda text: (-texts[text], len(text))))
    )


def near(errors: Sequence[LoggedError], line: LogLine) -> tuple[LogFrame, ...]:
    """Return the calls of the unfinished traceback to which the words on this line most probably belong."""
    broken = (
        error.frames
        for error in reversed(errors)
        if not error.kind
        and error.speaker == line.speaker
        and error.begins <= line.number <= error.line_number + _NEAR
    )
    return next(broken, ())
