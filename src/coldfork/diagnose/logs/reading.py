"""Reads a log: bytes in; lines of processes, errors and dumped stacks out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import BinaryIO

from coldfork.diagnose.logs import dumps, prefixes, tracebacks
from coldfork.diagnose.logs.envelopes import opened, unwrapped
from coldfork.diagnose.logs.prefixes import unnumbered
from coldfork.diagnose.logs.records import NOBODY, Log, LogLine, RawLine, Speaker, Stack
from coldfork.diagnose.logs.streaming import Excerpt, Passage, Signs, excerpt
from coldfork.diagnose.logs.tracebacks import LANDMARK

_LONGEST = 4000


def read(stream: BinaryIO, name: str | None, signs: Signs) -> Log:
    """Read a log; of a large one, what stands around the signs."""
    kept = excerpt(stream, signs)
    if kept.binary:
        return Log(name, (), (), (), ("it is no text: most of it cannot be read as lines",))
    if not kept.size:
        return Log(name, (), (), (), ("it is empty",))
    lines = tuple(line for passage in _joined(kept.passages) for line in _lines(passage))
    spoken = _by_speaker(lines)
    errors = sorted(
        (error for said in spoken for error in tracebacks.errors(said)), key=lambda error: error.line_number
    )
    found = sorted((stack for said in spoken for stack in dumps.stacks(said)), key=_place)
    return Log(name, lines, tuple(errors), tuple(found), _remarks(kept))


def _place(stack: Stack) -> int:
    return stack.line_number


def _remarks(kept: Excerpt) -> tuple[str, ...]:
    if not kept.left_out:
        return ()
    size = kept.left_out // (1024 * 1024) or 1
    return (f"{size} MB in its middle hold signs as well and were not read: there were too many",)


def _joined(passages: Iterable[Passage]) -> Iterator[Passage]:
    """Passages without what lies between them are one."""
    current: Passage | None = None
    for passage in passages:
        if current is not None and current.first + current.data.count(b"\n") == passage.first:
            current = Passage(current.first, current.data + passage.data)
            continue
        if current is not None:
            yield current
        current = passage
    if current is not None:
        yield current


def _lines(passage: Passage) -> Iterator[LogLine]:
    text = passage.data.decode("utf-8", "replace")
    raw = [
        RawLine(number, part[:_LONGEST])
        for number, line in enumerate(text.split("\n"), passage.first)
        for part in opened(line)
    ]
    if raw and not raw[-1].text:
        raw.pop()
    split = [(line.number, *_split(line.text)) for line in unwrapped(unnumbered(raw))]
    patterns = prefixes.learned(
        match["prefix"] for _, _, said, _ in split if (match := LANDMARK.match(said)) is not None
    )
    begun = NOBODY
    for number, who, said, bare in split:
        speaker = begun if bare and said[:2] == "  " else who
        if who.known or not bare or said[:2] != "  ":
            begun = who if _begins(said) else NOBODY
        line = LogLine(number, speaker, said)
        yield _stripped(line, patterns) if patterns else line


def _begins(said: str) -> bool:
    """Whether lines without a prefix may go on with this one: it is part of a traceback."""
    return said[:2] == "  " or "Traceback (most recent call last)" in said


def _split(text: str) -> tuple[Speaker, str, bool]:
    """Who wrote a line, what it says, and whether there was no prefix."""
    who, said = prefixes.split(text)
    return who, said.rstrip(), len(said) == len(text)


def _stripped(line: LogLine, patterns: Iterable[re.Pattern[str]]) -> LogLine:
    for pattern in patterns:
        match = pattern.match(line.text)
        if match is not None:
            who = line.speaker if line.speaker.known else Speaker(match[0].strip() or None)
            return replace(line, speaker=who, text=line.text[match.end() :])
    return line


def _by_speaker(lines: Iterable[LogLine]) -> tuple[tuple[LogLine, ...], ...]:
    spoken: dict[Speaker, list[LogLine]] = {}
    for line in lines:
        spoken.setdefault(line.speaker, []).append(line)
    return tuple(tuple(said) for said in spoken.values())
