"""Parses the prefix of a log line: line number, process, rank, time, level and source place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from coldfork.diagnose.logs.records import NOBODY, RawLine, Speaker

_CLOCK = r"\d{1,2}:\d\d:\d\d(?:[.,]\d+)?"
_DAY = r"(?:\d{4}[-/.]\d\d[-/.]\d\d|\d\d[-/]\d\d(?:[-/]\d\d(?:\d\d)?)?)"
_ZONE = r"(?:Z|UTC|GMT|[ ]?[+-]\d\d:?\d\d)"
_TIME = rf"(?:{_DAY}[T ,]+)?{_CLOCK}{_ZONE}?|{_DAY}(?=\s)"
_LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL|NOTICE|TRACE|error|info|warning|fatal)"

_ELEMENTS = re.compile(
    r"\((?P<who>(?:[A-Za-z_][\w.:/-]*(?: [A-Za-z_][\w.:-]*)*\s+)?"
    r"(?:(?:pid|rank|ip|actor_id|job_id|node)=[^\s,()]+,?\s*)+)\)"
    r"|\[(?P<tag>(?:rank|default|worker|trainer|local_rank|process|pid|proc|GPU|gpu)[ :=]?\d+"
    r"|\d+(?:[,/]\d+)?(?=\](?::|<)))\](?:<\w+>)?:?"
    r"|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) [FP](?= |$)"
    rf"|\[?(?:{_TIME})\]?:?(?=\s|$|\|)"
    rf"|\[?\b{_LEVEL}\b\]?(?=[:\s]|$)(?:\s*:)?"
    rf"|\[{_TIME}: {_LEVEL}/(?P<celery>[\w.-]+)\]"
    rf"|\[(?P<gunicorn>\d+)\](?= \[{_LEVEL}\])"
    r"|(?:[EWIF]\d{4} [\d:.]+\s+(?P<glog>\d+) )?(?:[\w./-]+\.(?:py|cc|cpp|cu|c|h):\d+\])"
    r"|[EWIF]\d{4} [\d:.]+\s+(?P<glog2>\d+)(?=\s)"
    r"|\[[\w./<>-]+(?:\.(?:py|cc|cpp|cu))?:\d+\]"
    r"|(?:[A-Z][a-z]{2} +\d{1,2} [\d:]{8} )[\w.-]+ (?P<unit>[\w./@-]+)\[(?P<unit_pid>\d+)\]:"
    r"|(?P<compose>[\w][\w.-]*) +\|(?= |$)"
    r"|\[(?P<pod>(?:pod/)?[\w.-]+/[\w.-]+)\]"
    r"|(?P<bar>[|](?= ))"
)
_PID = re.compile(r"(?:^|[\s,(=])pid[ =:]+(\d+)")
_BARS = re.compile(r"(?:\s*[|+](?:[-+ ]*)(?=\s|$|[-+])(?:-+(?: \d+ -+)?)?)+ ?")


_MOST_ELEMENTS = 20


def split(text: str, most: int = _MOST_ELEMENTS) -> tuple[Speaker, str, int]:
    """Return the process that wrote a line, the text after its prefix, and the number of parts in the prefix.

    One blank after the prefix belongs to the prefix.
    """
    position, name, pid, elements = 0, None, None, 0
    while elements < most and (match := _ELEMENTS.match(text, position)) and match.end() > position:
        elements += 1
        name, pid = _named(match, name, pid)
        position = match.end()
        following = position
        while following < len(text) and text[following] == " ":
            following += 1
        # Any number of blanks may precede the next part; before the text, only one belongs to the prefix.
        if following > position and elements < most and _ELEMENTS.match(text, following):
            position = following
        elif position < len(text) and text[position] == " ":
            position += 1
            break
    speaker = Speaker(name, pid) if name is not None or pid is not None else NOBODY
    return speaker, text[position:] if position else text, elements


def without_bars(text: str) -> str:
    """Return a line of an exception group without the bars at its left."""
    return _BARS.sub("", text, count=1) if text.lstrip()[:1] in ("|", "+") else text


def learned(prefixes: Sequence[str], texts: Sequence[str]) -> tuple[re.Pattern[str], ...]:
    """Return patterns for unknown prefixes, learned from lines whose text has a known beginning.

    If some of these lines have no prefix, a prefix counts only if it also precedes other parts of a
    traceback; otherwise it may be the rest of a line that another process tore.
    """
    shapes = {re.sub(r"\d+", "0", prefix): prefix for prefix in prefixes if prefix.strip()}
    found = [re.compile(re.sub(r"\d+", r"\\d+", re.escape(prefix))) for prefix in list(shapes.values())[:20]]
    if all(prefix.strip() for prefix in prefixes):
        return tuple(found)
    return tuple(pattern for pattern in found if any(_confirms(pattern, text) for text in texts))


def _confirms(pattern: re.Pattern[str], text: str) -> bool:
    """Return whether a header or a source line of a traceback follows this prefix."""
    match = pattern.match(text)
    return match is not None and _PART.match(text, match.end()) is not None


def _named(match: re.Match[str], name: str | None, pid: int | None) -> tuple[str | None, int | None]:
    who = match["who"]
    if who is not None:
        found = _PID.search(who)
        label = re.sub(r"(?:pid|ip|job_id|actor_id|node)=[^\s,]+,?", "", who).strip(" ,") or None
        return label or name, int(found[1]) if found else pid
    for group in ("tag", "compose", "pod", "celery"):
        if match[group] is not None:
            found = _PID.search(match[group])
            return match[group], int(found[1]) if found else pid
    if match["unit"] is not None:
        return match["unit"], int(match["unit_pid"])
    thread = match["glog"] or match["glog2"] or match["gunicorn"]
    return name, int(thread) if thread is not None and pid is None else pid


_PART = re.compile(r"Traceback \(most recent| {4}\w")
_NUMBERED = re.compile(r"(?:[\w./-]+:)?\s*(?P<number>\d+)(?P<mark>[:|]?)(?P<blanks> *)")
_FEWEST = 4


def unnumbered(lines: Sequence[RawLine]) -> Sequence[RawLine]:
    """Return the lines without their line numbers, if each has one and the numbers rise."""
    matches = [match for line in lines if (match := _NUMBERED.match(line.text)) is not None]
    if len(matches) < _FEWEST or len(matches) < sum(bool(line.text.strip()) for line in lines):
        return lines
    numbers = [int(match["number"]) for match in matches]
    if not all(one < other for one, other in pairwise(numbers)):
        return lines
    # Indentation that all lines share belongs to the line numbers, any further indentation to the text.
    texts = [len(match["blanks"]) for match in matches if match.end() < len(match.string)]
    indent = min(texts, default=0)
    return [RawLine(line.number, _without(line.text, indent)) for line in lines]


def _without(text: str, indent: int) -> str:
    match = _NUMBERED.match(text)
    return text if match is None else text[match.end("mark") + indent :]
