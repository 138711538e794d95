"""Finds the signs of a trouble in a log: in the right kind of error, or as a line of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from coldfork.diagnose.logs.records import Log, LoggedError
from coldfork.knowledge.troubles import Trouble

_STATEMENT = re.compile(r"(?:^|[:(>|=-]|\w+(?:Error|Exception)\(['\"])\s*$")

_QUOTED = re.compile(r"['\"`(\[{=]")


@dataclass(frozen=True, slots=True)
class Sighting:
    """One place where a trouble's sign stands."""

    error: LoggedError
    sure: bool
    """True when it is the message of an error of the right kind, and not just a line that says so."""


def sightings(log: Log, trouble: Trouble, *, bare: str | None = None) -> tuple[Sighting, ...]:
    """Where the sign of this trouble stands; `bare` is what a line has to say that is nobody's message."""
    assert trouble.pattern is not None
    pattern = squeezed(trouble.pattern)
    found = [
        Sighting(error, not error.quoted)
        for error in log.errors
        if (error.kind in trouble.kinds) and _says(error, trouble, pattern)
    ]
    alone = trouble.pattern if not trouble.kinds else bare
    if alone is not None:
        found += _bare(log, trouble, squeezed(alone), found)
    return tuple(sorted(found, key=lambda sighting: sighting.error.line_number))


def _says(error: LoggedError, trouble: Trouble, pattern: re.Pattern[str]) -> bool:
    said = f"{error.kind}: {error.said}"
    return pattern.search(_squeeze(said)) is not None


def _bare(log: Log, trouble: Trouble, pattern: re.Pattern[str], known: list[Sighting]) -> Iterator[Sighting]:
    """Lines that say it themselves: no source lines, no messages of other errors."""
    taken = {number for error in log.errors for number in _numbers(error)}
    taken |= {sighting.error.line_number for sighting in known}
    words = tuple({needle.split()[0] for needle in trouble.needles})
    for index, line in enumerate(log.lines):
        if not _may_say(line.text, words) or line.number in taken:
            continue
        following = " ".join(
            other.text for other in log.lines[index + 1 : index + 3] if other.speaker == line.speaker
        )
        if _states(line.text, f"{line.text} {following}", pattern):
            yield Sighting(LoggedError(line.number, line.speaker, "", line.text.strip()), not trouble.kinds)


def _may_say(text: str, words: Sequence[str]) -> bool:
    return any(word in text for word in words) if words else bool(text.strip())


def _states(text: str, whole: str, pattern: re.Pattern[str]) -> bool:
    """Whether the line states it, and does not quote it: before it stands nothing, or what introduces it."""
    match = pattern.search(_squeeze(whole))
    if match is None or match.start() >= len(_squeeze(text)):
        return False
    before = _squeeze(text)[: match.start()]
    # Where lines are indented, they may be code: the words of a message between quotation marks.
    is_code = text[:1] in " \t" and _QUOTED.search(before) is not None
    return not is_code and _STATEMENT.search(before) is not None


def _numbers(error: LoggedError) -> Iterator[int]:
    yield error.line_number
    for frame in error.frames:
        yield frame.line_number
        if frame.text:
            yield frame.line_number + 1


def _squeeze(text: str) -> str:
    return "".join(text.split())


@lru_cache(maxsize=128)
def squeezed(pattern: str) -> re.Pattern[str]:
    """The pattern for a text without blanks, which may have been wrapped anywhere."""
    without = re.sub(r"\\s[+*?]?|\[ \][+*?]?| ", "", pattern)
    return re.compile(without)
