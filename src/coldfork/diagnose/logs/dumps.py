"""Parses the stacks of a hanging program's processes, as py-spy, faulthandler and gdb print them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from coldfork.diagnose.logs.records import LogFrame, LoggedError, LogLine, Speaker, Stack

_TITLES = re.compile(
    r"^(?P<py_spy>Thread (?:\d+|0x[0-9a-f]+)(?: \([^)]*\))?: (?:\"[^\"]*\"|\S+).*"
    r"|Thread \d+ \((?:idle|active|active\+gil)\)(?:: .*)?)$"
    r"|^(?P<fault>(?:Current thread|Thread) 0x[0-9a-f]+(?: \[[^\]]*\])? \(most recent call first\):)$"
    r"|^(?P<gdb>Thread \d+ \((?:Thread 0x[0-9a-f]+ \(LWP \d+\)|LWP \d+|process \d+).*\)?:?)$"
    r"|^(?P<stack>Stack \(most recent call first\):)$"
)
_FAULT_FRAME = re.compile(r'^\s*File "(?P<path>[^"]+)", line (?P<line>\d+|\?\?\?) in (?P<function>\S+)')
_SPY_FRAME = re.compile(r"^ {2,}(?P<function>\S.*?) \((?P<path>[^()]*?)(?::(?P<line>\d+))?\)\s*$")
_GDB_FRAME = re.compile(
    r"^#\d+\s+(?:0x[0-9a-f]+ in )?(?P<function>[^\s(]+)(?: ?\(.*?\))?(?:.*?(?: from (?P<lib>\S+)| at "
    r"(?P<path>\S+?):(?P<line>\d+)))?"
)
_PROCESS = re.compile(r"^Process (?P<pid>\d+): (?P<command>.+)$")


def stacks(lines: Sequence[LogLine]) -> Iterator[Stack]:
    """Yield the dumped stacks in these lines of one process."""
    index = 0
    pid: int | None = None
    while index < len(lines):
        line = lines[index]
        process = _PROCESS.match(line.text)
        if process is not None:
            pid = int(process["pid"])
        if not _begins(line.text):
            index += 1
            continue
        title = line
        index += not line.text.startswith("#")
        frames: list[LogFrame] = []
        while index < len(lines) and (found := dumped_frame(lines[index])) is not None:
            frames.append(found)
            index += 1
        speaker = title.speaker if title.speaker.known or pid is None else Speaker(None, pid)
        if frames:
            yield Stack(title.number, speaker, title.text, tuple(frames))


def upside_down(error: LoggedError) -> Stack | None:
    """Return the stack that gdb's `py-bt` prints: a traceback with the innermost call first and no error."""
    frames = error.frames
    starts = [n for n, call in enumerate(frames) if call.function == "_launch" and "popen_fork" in call.path]
    begins = [n for n, call in enumerate(frames) if call.function == "_bootstrap"]
    if error.kind or not starts or not begins or begins[0] > starts[0]:
        return None
    return Stack(frames[0].line_number, error.speaker, "", frames)


def _begins(text: str) -> bool:
    return _TITLES.match(text) is not None or (text.startswith("#0 ") and _GDB_FRAME.match(text) is not None)


def dumped_frame(line: LogLine) -> LogFrame | None:
    """Return the call that a line of a dump shows; None if it shows none."""
    match = _FAULT_FRAME.match(line.text) or _SPY_FRAME.match(line.text) or _GDB_FRAME.match(line.text)
    if match is None:
        return None
    fields = match.groupdict()
    number = fields.get("line")
    path = fields.get("path") or fields.get("lib") or ""
    return LogFrame(
        line.number, path, int(number) if number and number.isdigit() else None, fields["function"]
    )
