"""The forms in which a call on a stack is written: Python's, IPython's, pytest's and rich's."""

from __future__ import annotations

import re

from coldfork.diagnose.logs.records import LogFrame

_PYTHON = re.compile(
    r'^\s*File (?:"(?P<path>[^"]+)"|(?P<bare>[^\s",][^",]*?)), line (?P<line>\?\?\?|\d+)'
    r"(?:,? in (?P<function>.+?))?\s*$"
)
_IPYTHON = re.compile(r"^\s*File (?P<path>[^\s\"][^\"]*\.pyx?):(?P<line>\d+),? in (?P<function>[^\s(]+)")
_PLACED = re.compile(
    r"^\s*(?P<path>(?:[A-Za-z]:)?[^\s:\"'()]*\.pyx?):(?P<line>\d+)(?::)? in (?P<function><?[\w.]+>?)"
)
_BEGUN = re.compile(r'^\s*File "[^"]*(?:"(?:,(?: line ?\d*)?)?)?\s*$')
LANDMARK = re.compile(
    r'^(?P<prefix>.*?)(?P<body> {2}File "[^"]+", line \d+|Traceback \(most recent call last\):)'
)


def frame(text: str, number: int) -> LogFrame | None:
    """The call that a line of a traceback names."""
    if ".py" not in text and 'File "' not in text:
        return None
    match = _PYTHON.match(text) or _IPYTHON.match(text) or _PLACED.match(text)
    if match is None:
        return None
    fields = match.groupdict()
    line = fields["line"]
    return LogFrame(
        number,
        fields["path"] or fields.get("bare") or "",
        int(line) if line.isdigit() else None,
        (fields["function"] or "").split("(")[0].strip(),
    )


def is_begun(text: str) -> bool:
    """Whether a frame's line breaks off, because something wrapped it."""
    return _BEGUN.match(text) is not None and frame(text, 0) is None
