"""Undoes what terminals, containers and collectors do to a line: colours, JSON, time stamps, cuts."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence

from coldfork.diagnose.logs import prefixes
from coldfork.diagnose.logs.records import RawLine
from coldfork.diagnose.logs.tracebacks import frame

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and movements of the cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles and links
    r"|\x1b[@-Z\\^_=>()][0AB]?"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]"
)
_ESCAPED_COLOUR = re.compile(r"(?:\\x1b|\\u001b|\\033|\^\[|#033)\[[0-9;]*m")
"""What loggers that fear control characters make of a colour."""
_KUBERNETES = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) [FP] ")
_KEYS = ("log", "message", "msg", "textPayload", "MESSAGE", "body")
"""Where Docker, fluentd, Google, journald and OpenTelemetry keep the line."""
_TRACES = ("exc_info", "exc_text", "exception", "stack_trace", "stacktrace", "traceback")
"""Where loggers of structured documents keep a traceback: python-json-logger, structlog, ECS."""
_ONE_LINE = re.compile(r"Traceback \(most recent call last\):\\n|\\n +File \\?\"[^\"]+\", line \d+")
"""A traceback whose line ends a logger wrote as a backslash and an n."""
_ESCAPED = {"\\n": "\n", "\\t": "\t", '\\"': '"', "\\'": "'", "\\\\": "\\"}
_ENTITY = re.compile(r"&(?:quot|lt|gt|amp|#39|#x27);")
_QUOTES = str.maketrans("\u201c\u201d", '""')
"""Quotation marks that a word processor or a chat made of those around a path."""


def opened(text: str) -> tuple[str, ...]:
    """The lines inside a line of a log; mostly itself."""
    if text.startswith("{") and text.endswith("}"):
        inside = _inside(text)
        if inside is not None:
            return tuple(line for part in inside.splitlines() or ("",) for line in opened(part))
    if _ONE_LINE.search(text) is not None:
        unescaped = re.sub(r"\\[nt\"'\\]", lambda found: _ESCAPED[found[0]], text)
        return tuple(_plain(line) for line in unescaped.splitlines())
    match = _KUBERNETES.match(text)
    return opened(text[match.end() :]) if match is not None else (_plain(text),)


def _inside(text: str) -> str | None:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    said = [value for key in _KEYS if isinstance(value := document.get(key), str)]
    parts = [*said[:1], *_traces(document)]
    return "\n".join(parts) if parts else None


def _traces(document: dict[str, object]) -> Iterator[str]:
    """The tracebacks in a document, or one level below."""
    inner = [value for value in document.values() if isinstance(value, dict)]
    for place in (document, *inner):
        for key in _TRACES:
            value = place.get(key)
            if isinstance(value, str) and "\n" in value:
                yield value


def _plain(text: str) -> str:
    # What a progress bar wrote over with a carriage return is gone from the screen, and from here.
    text = text.rstrip("\r").rpartition("\r")[2]
    if "\x1b" in text or not text.isprintable():
        text = _ESCAPES.sub("", text)
    if "[" in text and ("\\" in text or "^[" in text or "#033" in text):
        text = _ESCAPED_COLOUR.sub("", text)
    if "&" in text and _ENTITY.search(text) is not None:
        text = html.unescape(text)
    if "\u201d" in text:
        text = text.translate(_QUOTES)
    return text.expandtabs(8)


#: How a line begins that goes on with nothing.
_BEGINS = re.compile(
    r'Traceback \(|Process [\w:.-]+:$|\s*File "|During handling of|The above exception'
    r"|\(\w+[ \w]*=|\[rank\d|\[?\d{4}-\d\d-\d\d|(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning):"
)
_NARROWEST = 40
_WIDEST = 400
_FEWEST = 2
_SHARE = 0.08
"""The part of all lines from which it is no accident that they are as long as any."""


def unwrapped(lines: Sequence[RawLine]) -> Iterator[RawLine]:
    """The lines, those that were cut at the same width joined with what follows them."""
    width = _width(lines)
    if width is None:
        yield from lines
        return
    number, parts = 0, list[str]()
    for line in lines:
        if parts and _is_new(line.text, behind="".join(parts)):
            yield RawLine(number, "".join(parts))
            parts = []
        number = number if parts else line.number
        parts.append(line.text)
        if len(line.text) != width:
            yield RawLine(number, "".join(parts))
            parts = []
    if parts:
        yield RawLine(number, "".join(parts))


def _is_new(text: str, behind: str) -> bool:
    """True where a line does not go on with the one before, which is as long as those that were cut."""
    said = prefixes.split(behind)[1]
    if _BEGINS.match(text):
        return bool(said.strip())
    # The source line below a frame: nothing of the frame itself is so far to the right.
    return text.startswith("    ") and frame(said, 0) is not None


def _width(lines: Sequence[RawLine]) -> int | None:
    """The width at which lines were cut; None if they were not."""
    longest = max((len(line.text) for line in lines), default=0)
    cut = [line.text for line in lines if len(line.text) == longest]
    # The same error of two workers is as long twice, and was cut by nobody.
    wrapped = len(set(cut)) >= _FEWEST and len(cut) >= _SHARE * len(lines)
    return longest if wrapped and _NARROWEST <= longest <= _WIDEST else None
