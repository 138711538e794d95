"""Finds the signs of a trouble in a log: in the right kind of error, or as a line of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from coldfork.diagnose.logs import tears
from coldfork.diagnose.logs.records import Log, LoggedError
from coldfork.knowledge.troubles import Trouble

_STATEMENT = re.compile(r"(?:^|[:(>|=-]|[^\x00-\u02ff]|\w+(?:Error|Exception)\(['\"])\s*$")
"""The end of a text that may precede a message; in scripts without blanks, this may be any letter."""

_QUOTED = re.compile(r"['\"`(\[{=]")


@dataclass(frozen=True, slots=True)
class Sighting:
    """One occurrence of a trouble's sign."""

    error: LoggedError
    sure: bool
    """True if it is the message of an error of the right kind, and not merely a line with the words."""


def sightings(log: Log, trouble: Trouble, *, bare: str | None = None) -> tuple[Sighting, ...]:
    """Return the occurrences of a trouble's sign; `bare` is the pattern for lines outside error messages."""
    assert trouble.pattern is not None
    pattern = squeezed(trouble.pattern)
    found = [
        Sighting(error, not error.quoted)
        for error in log.errors
        if (error.kind in trouble.kinds) and _says(error, trouble, pattern)
    ]
    # If an error was torn, only its message is sure to be whole, because Python writes the message in one
    # piece.
    alone = trouble.pattern if not trouble.kinds or log.torn else bare
    if alone is not None:
        found += _bare(log, trouble, squeezed(alone), found)
    return tuple(sorted(found, key=lambda sighting: sighting.error.line_number))


def _says(error: LoggedError, trouble: Trouble, pattern: re.Pattern[str]) -> bool:
    said = f"{error.kind}: {error.said}"
    return pattern.search(_squeeze(said)) is not None


def _bare(log: Log, trouble: Trouble, pattern: re.Pattern[str], known: list[Sighting]) -> Iterator[Sighting]:
    """Yield the signs on lines of their own that are neither source lines nor messages of other errors."""
    words = tuple({needle.split()[0] for needle in trouble.needles})
    if words and not _may_say(log.said, words):
        return
    taken = _taken([*log.errors, *(sighting.error for sighting in known)])
    for index, line in enumerate(log.lines):
        if not _may_say(line.text, words) or any(said in line.text for said in taken.get(line.number, ())):
            continue
        following = " ".join(
            other.text for other in log.lines[index + 1 : index + 3] if other.speaker == line.speaker
        )
        whole = f"{line.text} {following}"
        above = log.lines[index - 1].text if index else ""
        if log.torn and pattern.search(_squeeze(f"{above} {whole}")) is not None:
            frames = tears.near(log.errors, line)
            yield Sighting(
                LoggedError(line.number, line.speaker, "", line.text.strip(), (), frames), bool(frames)
            )
        elif _states(line.text, whole, pattern):
            yield Sighting(LoggedError(line.number, line.speaker, "", line.text.strip()), not trouble.kinds)


def _may_say(text: str, words: Sequence[str]) -> bool:
    return any(word in text for word in words) if words else bool(text.strip())


def _states(text: str, whole: str, pattern: re.Pattern[str]) -> bool:
    """Return whether a line itself states the words, after at most an introduction, and does not
    quote them.
    """
    match = pattern.search(_squeeze(whole))
    if match is None or match.start() >= len(_squeeze(text)):
        return False
    before = _squeeze(text)[: match.start()]
    # An indented line may be source code in which the message is a string.
    is_code = text[:1] in " \t" and _QUOTED.search(before) is not None
    return not is_code and _STATEMENT.search(before) is not None


def _taken(errors: Iterable[LoggedError]) -> dict[int, list[str]]:
    """Return the texts of errors by line number; in a log written on one line, that line has several."""
    taken: dict[int, list[str]] = {}
    for error in errors:
        taken.setdefault(error.line_number, []).append(error.message or error.kind)
        for frame in error.frames:
            taken.setdefault(frame.line_number, []).append(frame.path)
            if frame.text:
                taken.setdefault(frame.line_number, []).append(frame.text)
                taken.setdefault(frame.line_number + 1, []).append(frame.text)
    return taken


def _squeeze(text: str) -> str:
    return "".join(text.split())


@lru_cache(maxsize=128)
def squeezed(pattern: str) -> re.Pattern[str]:
    """Return the pattern without blanks, to match text from which blanks were removed, however it was
    wrapped.
    """
    without = re.sub(r"\\s[+*?]?|\[ \][+*?]?| ", "", pattern)
    return re.compile(without)
