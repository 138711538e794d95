"""Assembles tracebacks: header, calls, source lines, exception, and the message's continuation lines."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace

from coldfork.diagnose.logs.prefixes import without_bars
from coldfork.diagnose.logs.records import Call, LogFrame, LoggedError, LogLine

_PYTHON = re.compile(
    r'^\s*File(?: ?"(?P<path>[^"]+)"| (?P<bare>[^\s",][^",]*?)), ?line ?(?P<line>\?\?\?|\d+)'
    r"(?:,? ?in ?(?P<function>.+?))?\s*$"
)
_IPYTHON = re.compile(r"^\s*File (?P<path>[^\s\"][^\"]*\.pyx?):(?P<line>\d+),? in (?P<function>[^\s(]+)")
_PLACED = re.compile(
    r"^\s*(?P<path>(?:[A-Za-z]:)?[^\s:\"'()]*\.pyx?):(?P<line>\d+)(?::)? in (?P<function><?[\w.]+>?)"
)
_BEGUN = re.compile(r'^\s*File(?: ?"[^"]*(?:"(?:,(?: line ?\d*(?:,(?: in)?)?)?)?)?)?\s*$')
LANDMARK = re.compile(r'^(?P<prefix>.*?) {2}File "[^"]+", line \d+')
"""A call whose line shows where an unknown prefix ends."""


def frame(text: str, number: int) -> LogFrame | None:
    """Return the call that a line of a traceback shows; None if it shows none."""
    if ".py" not in text and "File" not in text:
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
    """Return whether a frame's line is incomplete because a console wrapped it."""
    return _BEGUN.match(text) is not None and frame(text, 0) is None


def joined(text: str, rest: str) -> str:
    """Join the two rows of a wrapped frame line, whether it was wrapped at a blank or within a word."""
    at_once, spaced = text + rest.strip(), f"{text.rstrip()} {rest.strip()}"
    return at_once if frame(at_once, 0) is not None or frame(spaced, 0) is None else spaced


_HEADER = re.compile(
    r"(?:^|\s|\"|')(?:Exception Group )?Traceback \(most recent call last\):|^Original Traceback"
)
_NAMED = re.compile(r"^(?:Process (?P<name>[\w:.-]+):|.*\bWorker process \S+ .*)$")
_EXCEPTION = re.compile(
    r"^(?P<module>(?:[A-Za-z_]\w*\.)*)(?P<kind>[A-Z_]\w*|[a-z]\w*\.error|error)(?:\((?P<inner>\w+)\))?"
    r"(?P<rest>:(?: .*|$)|$)"
)
_KNOWN_KIND = re.compile(
    r"(?:Error|Exception|Warning|Interrupt|Exit|Iteration|Failure|Expired|Killed|Timeout|Group|Died|Traceback)$"
    r"|^(?:Empty|Full|Failed|Skipped|SystemExit)$"
)
_WARNED = re.compile(
    r"^(?P<path>(?:[A-Za-z]:)?[^\s:]+\.pyx?|<[\w -]+>|sys):(?P<line>\d+): (?P<kind>\w*Warning):"
    r"(?: (?P<message>.*))?$"
)
_PARTLY = re.compile(r"^[^\s:]*(?::\d+: \w*|[/\\][^\s:]*(?::\d*:?)?)$")
"""The beginning of such a warning, if it was wrapped."""
_INSIDE = re.compile(
    r"(?:^|[\s\"'(\[:`*])(?P<kind>[A-Z]\w*(?:Error|Exception))(?:\(['\"]|: )(?P<message>\S.*)$"
    r"|<class '(?:\w+\.)*(?P<printed>[A-Z]\w*(?:Error|Exception))'>[^:]*: (?P<behind>\S.*)$"
)
"""An error after other words, by its name or as Python prints a class."""
_CHECKED = re.compile(r"^THCudaCheck FAIL file=\S+ line=\d+ error=(?P<code>\d+) : (?P<words>\S.*)$")
"""The line that older versions of PyTorch's C++ part printed before raising `cuda runtime error`."""
_SEARCHED = re.compile(r"^Search for `(?P<code>cudaError\w+)' in http")
"""A line below a CUDA error that names the error, even if the first line of the message is missing."""
_LINKS = ("During handling of the above exception", "The above exception was the direct cause")
_MOST_BETWEEN = 2
"""The most lines between a call and a header that interrupts it: the call itself and its source."""
_MOST_FOLLOWING = 12
_MOST_FRAMES = 1500


def errors(lines: Sequence[LogLine]) -> Iterator[LoggedError]:
    """Yield every error in these lines of one process, in order."""
    said: LoggedError | None = None
    for found in _Reader(lines).errors():
        if said is not None and _belongs(found, said, lines):
            said = replace(said, frames=_outermost_first(found), header=found.header)
            continue
        if said is not None and _mixed(said, found):
            found = replace(found, frames=_unmixed((*said.frames, *found.frames)))
        elif said is not None:
            yield said
        said = found
    if said is not None:
        yield said


def _outermost_first(broken: LoggedError) -> tuple[LogFrame, ...]:
    """Return the calls, outermost first; debuggers print them in reverse, and without a header."""
    headed = broken.begins < broken.frames[0].line_number
    upright = headed or broken.frames[0].function == "<module>"
    return broken.frames if upright else broken.frames[::-1]


def _mixed(broken: LoggedError, found: LoggedError) -> bool:
    """Return whether two processes wrote one traceback at once: the next one starts where this one breaks
    off.
    """
    if broken.kind or not broken.frames or not found.frames:
        return False
    near = found.begins - broken.frames[-1].line_number <= _MOST_BETWEEN
    outermost = broken.frames[0].call
    return near and any(frame.call == outermost for frame in found.frames[: _MOST_BETWEEN + 1])


def _unmixed(frames: Sequence[LogFrame]) -> tuple[LogFrame, ...]:
    """Return each call of a mixed traceback once, in the order of the stack, which every copy preserves."""
    first: dict[Call, LogFrame] = {}
    for frame in frames:
        first.setdefault(frame.call, frame)
    return tuple(first.values())


def _belongs(broken: LoggedError, said: LoggedError, lines: Sequence[LogLine]) -> bool:
    """Return whether a traceback that lacks its error line belongs to the error that was logged just
    above.
    """
    if broken.kind or not said.kind or said.frames or said.kind.endswith("Warning"):
        return False
    first = bisect_right(lines, said.line_number, key=lambda line: line.number)
    begins = bisect_left(lines, broken.begins, key=lambda line: line.number)
    blank = all(not lines[index].text.strip() for index in range(first, begins))
    return broken.begins > said.line_number and blank


class _Reader:
    """Reads the lines of one process once, from first to last."""

    def __init__(self, lines: Sequence[LogLine]) -> None:
        self._lines = lines
        self._index = 0
        self._frames: list[LogFrame] = []
        self._begins = 0
        self._header: str | None = None
        self._told = 0
        """The end of the words that belong to the most recent error."""

    def errors(self) -> Iterator[LoggedError]:
        while self._index < len(self._lines):
            line = self._lines[self._index]
            self._index += 1
            found = self._taken(line)
            if found is not None:
                yield found
        if self._frames:
            yield self._unfinished()

    def _taken(self, line: LogLine) -> LoggedError | None:
        text = without_bars(line.text)
        if not text.strip() or text.lstrip().startswith(_LINKS):
            return None
        if _heads(text):
            return self._headed(line)
        if (call := self._frame(line, text)) is not None:
            self._begins = self._begins or line.number
            if len(self._frames) < _MOST_FRAMES:
                self._frames.append(call)
            return None
        if _names(text):
            unfinished = self._unfinished() if self._frames else None
            self._header, self._begins = text.strip(), line.number
            return unfinished
        return self._error(line, text)

    def _headed(self, line: LogLine) -> LoggedError | None:
        unfinished = self._unfinished() if self._frames else None
        if self._header is None:
            self._begins = line.number
        return unfinished

    def _frame(self, line: LogLine, text: str) -> LogFrame | None:
        while is_begun(text) and self._index < len(self._lines) and len(text) < 2000:
            # A console wrapped the frame's line, which continues on the next line.
            text = joined(text, self._lines[self._index].text)
            self._index += 1
        found = frame(text, line.number)
        return None if found is None else replace(found, text=self._quoted())

    def _quoted(self, indent: str = "    ") -> str:
        """Return the source line printed below a frame or warning, and move past it."""
        if self._index >= len(self._lines):
            return ""
        text = without_bars(self._lines[self._index].text)
        if not text.startswith(indent) or frame(text, 0) is not None or _heads(text):
            return ""
        self._index += 1
        while self._index < len(self._lines) and _is_marker(self._lines[self._index].text):
            self._index += 1
        return text.strip()

    def _error(self, line: LogLine, text: str) -> LoggedError | None:
        warned = _WARNED.match(text.strip()) or self._warned_below(text.strip())
        if warned is not None:
            number = int(warned["line"])
            place = LogFrame(line.number, warned["path"], number, "", self._quoted("  "))
            return self._made(line, warned["kind"], warned["message"] or "", (place,), keep=True)
        if text[:1] in (" ", "\t"):
            return self._indented(line, text)
        match = _EXCEPTION.match(text)
        if match is not None and (self._frames or _KNOWN_KIND.search(match["kind"])):
            kind = match["inner"] or match["kind"]
            return self._made(line, kind, match["rest"].lstrip(": "), tuple(self._frames))
        inside = _INSIDE.search(text)
        if inside is not None and not self._frames:
            message = (inside["message"] or inside["behind"]).rstrip("'\")`*")
            made = self._made(line, inside["kind"] or inside["printed"], message, (), keep=True)
            return replace(made, quoted=inside[0][:1] in "`*")
        return self._of_device(line, text)

    def _of_device(self, line: LogLine, text: str) -> LoggedError | None:
        """Return an error that CUDA itself printed, unless an exception that contains it was read."""
        if not text.startswith(("THCudaCheck", "Search for")):
            return None
        checked = _CHECKED.match(text)
        if checked is not None:
            said = f"cuda runtime error ({checked['code']}) : {checked['words']}"
            return self._made(line, "RuntimeError", said, (), keep=True)
        searched = _SEARCHED.match(text) if self._index > self._told else None
        return self._made(line, "RuntimeError", searched["code"], (), keep=True) if searched else None

    def _warned_below(self, text: str) -> re.Match[str] | None:
        """Return a warning whose path a console wrapped, so that the message is on the next line."""
        below = self._lines[self._index].text.strip() if self._index < len(self._lines) else ""
        if "Warning: " not in below or _PARTLY.match(text) is None:
            return None
        found = _WARNED.match(text + below)
        self._index += found is not None
        return found

    def _indented(self, line: LogLine, text: str) -> LoggedError | None:
        """Return an error that ends an indented traceback, which a logger printed inside another."""
        match = _EXCEPTION.match(text.strip())
        if match is None or not self._frames or not _KNOWN_KIND.search(match["kind"]) or not match["rest"]:
            return None
        return self._made(
            line, match["inner"] or match["kind"], match["rest"].lstrip(": "), tuple(self._frames)
        )

    def _made(
        self, line: LogLine, kind: str, message: str, frames: tuple[LogFrame, ...], *, keep: bool = False
    ) -> LoggedError:
        made = LoggedError(
            line.number,
            line.speaker,
            kind.rpartition(".")[2],
            message,
            self._following(),
            frames,
            self._header,
            self._begins or line.number,
        )
        self._told = self._index + len(made.following)
        if not keep:
            self._frames, self._begins, self._header = [], 0, None
        return made

    def _following(self) -> tuple[str, ...]:
        """Return the lines that continue the message; they are read again, because they may contain
        errors.
        """
        following = []
        for line in self._lines[self._index : self._index + _MOST_FOLLOWING]:
            text = line.text.strip()
            if _heads(text) or _names(text) or text.startswith(_LINKS):
                break
            if frame(line.text, 0) is not None or (_EXCEPTION.match(text) and is_named_error(text)):
                break
            following.append(text)
        return tuple(following)

    def _unfinished(self) -> LoggedError:
        last = self._frames[-1]
        line = LogLine(last.line_number, self._lines[0].speaker, "")
        self._begins = self._begins or self._frames[0].line_number
        made = LoggedError(
            line.number, line.speaker, "", "", (), tuple(self._frames), self._header, self._begins
        )
        self._frames, self._begins, self._header = [], 0, None
        return made


def _heads(text: str) -> bool:
    """Return whether a traceback begins with this line; a quick test, because it runs for every line."""
    return "Traceback" in text and _HEADER.search(text) is not None


def _names(text: str) -> bool:
    """Return whether this line announces a traceback and names its process."""
    return ("Worker process" in text or text.startswith("Process ")) and _NAMED.match(text) is not None


def is_named_error(text: str) -> bool:
    """Return whether a line begins with the name of an exception."""
    match = _EXCEPTION.match(text)
    return match is not None and _KNOWN_KIND.search(match["kind"]) is not None


def _is_marker(text: str) -> bool:
    stripped = text.strip(" |+")
    return bool(stripped) and not stripped.strip("~^") and text[:1] in " |+"
