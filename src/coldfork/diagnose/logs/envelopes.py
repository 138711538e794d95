"""Removes what terminals, containers and log collectors add to a line: colours, JSON, time stamps, links."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movements
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # window titles and hyperlinks
    r"|\x1b[@-Z\\^_=>()][0AB]?"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]"
)
_ESCAPED_COLOUR = re.compile(r"(?:\\x1b|\\u001b|\\033|\^\[|#033)\[[0-9;]*m")
"""A colour as loggers write it that escape control characters."""
_KEYS = ("log", "message", "msg", "textPayload", "MESSAGE", "body")
"""The keys under which Docker, fluentd, Google, journald and OpenTelemetry store the line."""
_TRACES = ("exc_info", "exc_text", "exception", "stack_trace", "stacktrace", "traceback")
"""The keys of tracebacks in structured logs: python-json-logger, structlog, ECS."""
_ONE_LINE = re.compile(r"Traceback \(most recent call last\):\\n|\\n +File \\?\"[^\"]+\", line \d+")
"""A traceback whose line ends are written as a backslash and an n."""
_ENDS = re.compile(r"(?<![A-Za-z]:)(?<![\w\\])\\n|[\w.]\\n(?=[A-Z ]|\\n)")
_FEWEST_ENDS = 3
_ESCAPED = {"\\n": "\n", "\\r": "\r", "\\t": "\t", '\\"': '"', "\\'": "'", "\\\\": "\\"}
_PARTED = re.compile(r"(\\[nr])['\"], ['\"]")
"""The end of one line and the beginning of the next in a printed list of lines."""
_LINK = re.compile(r"\[(?P<text>[^\[\]]+)\]\((?:[a-z][\w+.-]*:)?//[^\s()]*(?:\([^\s()]*\)[^\s()]*)*\)")
"""A Markdown link; notebooks in editors and Colab turn every file and every line number into one."""
_ENTITY = re.compile(r"&(?:quot|lt|gt|amp|#39|#x27);")
_GLUED = re.compile(r"^\s*`{1,3}(?=\s*(?:File \"|Traceback \()|[^`]*$)|^\*\*(?=[A-Z])|`{3}$")
"""Markdown marks on a traceback's own line, if its fence has no line of its own."""
_BAR = re.compile(r"^[^|]{0,80}?\d+%\|[^|]*\| *\S+/\S+ \[[^\]/]*(?:it/s|s/it)\]?(?=[/~\w])")
"""A progress bar with other text after it, because there was no line end between them."""
_CALL = re.compile(r'\s(?=File "[^"]+", line \d+)')
_CALLED = re.compile(r'^\s*(File "[^"]+", line \d+, in <?\w+>?)(?:\(\))?\s+(\S.*)$')
_RAISED = re.compile(r"\s(?=(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): )")
_FEWEST_CALLS = 2
"""If this many calls share a line, it is a traceback whose line ends were lost."""
_NUMBER = re.compile(r"^((?:[\w./-]+:)?\s*\d+[:|]?)\t")
"""A line number; a tab follows it, so that all numbers are equally wide."""
_TAB = " " * 8
_QUOTES = str.maketrans("\u201c\u201d", '""')
"""Quotation marks around a path, as word processors and chats change them."""


def opened(text: str, *, patient: bool = False) -> tuple[str, ...]:
    """Return the lines of text in a log line's JSON document; if there is none, just the line itself.

    With `patient`, a document that follows other text is left to a later call, after that text has been
    removed.
    """
    if "\u00a0" in text:
        text = text.replace("\u00a0", " ")
    if "\u201d" in text or "\u201c" in text:
        text = text.translate(_QUOTES)
    begins = text.find("{") if text.rstrip().endswith("}") else -1
    inside = _inside(text[begins:].rstrip()) if begins >= 0 else None
    if inside is not None:
        if patient and text[:begins].strip():
            return (text,)
        return tuple(line for part in inside.splitlines() or ("",) for line in opened(part))
    return (_plain(text),)


def parted(text: str) -> tuple[str, ...]:
    """Return the lines that escaped or lost line ends have joined into one; usually just the line itself."""
    if text.rstrip()[-1:] == "}" and '{"' in text:
        return (text,)  # a JSON document, which is parsed once the text before it has been removed
    if "\\n" in text and _is_escaped(text):
        text = _PARTED.sub(r"\1", text)
        unescaped = re.sub(r"\\[nrt\"'\\]", lambda found: _ESCAPED[found[0]], text)
        return tuple(_plain(line) for line in unescaped.split("\n"))
    if text.count('File "') >= _FEWEST_CALLS and len(calls := _CALL.split(text)) > _FEWEST_CALLS:
        return tuple(line for call in calls for line in _parted(call))
    return (text,)


def _parted(call: str) -> Iterator[str]:
    """Yield the parts of a traceback's call that is on one line: its place, its source, and any error."""
    called = _CALLED.match(call)
    if called is None:
        yield call
        return
    yield f"  {called[1]}"
    source, *error = _RAISED.split(called[2], maxsplit=1)
    yield f"    {source}"
    yield from error


def _is_escaped(text: str) -> bool:
    """Return whether the text has escaped line ends, and not just one Windows path that looks like them."""
    return _ONE_LINE.search(text) is not None or len(_ENDS.findall(text)) >= _FEWEST_ENDS


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
    """Yield the tracebacks in a JSON document or in the objects directly inside it."""
    inner = [value for value in document.values() if isinstance(value, dict)]
    for place in (document, *inner):
        for key in _TRACES:
            value = place.get(key)
            if isinstance(value, str) and "\n" in value:
                yield value


def _plain(text: str) -> str:
    # Drop text before a carriage return: it is a progress bar that was overwritten, and is not visible on the
    # screen.
    text = text.rstrip("\r").rpartition("\r")[2]
    if "\x1b" in text or not text.isprintable():
        text = _ESCAPES.sub("", text)
    if "[" in text and ("\\" in text or "^[" in text or "#033" in text):
        text = _ESCAPED_COLOUR.sub("", text)
    if "&" in text and _ENTITY.search(text) is not None:
        text = html.unescape(text)
    if "%|" in text:
        text = _BAR.sub("", text)
    if "`" in text or text[:2] == "**":
        text = _GLUED.sub("", text)
    if "](" in text:
        text = _LINK.sub(lambda found: found["text"], text)
    if "\t" in text:
        text = _NUMBER.sub(lambda found: found[1] + _TAB, text).expandtabs(8)
    return text
