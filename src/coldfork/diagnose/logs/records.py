"""The elements of a parsed log: lines, frames, errors and dumped stacks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from coldfork.diagnose.logs.streaming import Passage


@dataclass(frozen=True, slots=True)
class Speaker:
    """The process that wrote a line, if a prefix names it; all processes without a prefix count as one."""

    name: str | None = None
    pid: int | None = None

    @property
    def known(self) -> bool:
        """Whether anything is known about the process."""
        return self.name is not None or self.pid is not None


NOBODY = Speaker()


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line as its process wrote it, without additions by terminals and containers."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of one process, without its prefix."""

    number: int
    speaker: Speaker
    text: str


@lru_cache(maxsize=4096)
def _parts(path: str) -> tuple[str, ...]:
    return tuple(path.replace("\\", "/").split("/"))


Call = tuple[str, int | None, str]
"""The path, line and function of a call."""


@dataclass(frozen=True, slots=True)
class LogFrame:
    """One call on a stack that the log shows."""

    line_number: int
    """The line in the log."""
    path: str
    line: int | None
    function: str
    text: str = ""
    """The source line, if the log quotes it."""

    @property
    def call(self) -> Call:
        """The call, wherever in the log it stands and whatever source line is quoted for it."""
        return self.path, self.line, self.function

    @property
    def parts(self) -> tuple[str, ...]:
        """The path, split into parts, whether in Windows or POSIX form."""
        return _parts(self.path)


@dataclass(frozen=True, slots=True)
class LoggedError:
    """An exception, a warning or a fatal message, with the stack above it."""

    line_number: int
    speaker: Speaker
    kind: str
    """The name of the exception without its module; empty for a line that is only a message."""
    message: str
    following: tuple[str, ...] = ()
    """The lines below it that belong to its message, or are in the place of such lines."""
    frames: tuple[LogFrame, ...] = ()
    header: str | None = None
    """The line that introduced it, such as `Process ForkProcess-1:`."""
    begins: int = 0
    """The line of the log on which it begins."""
    quoted: bool = False
    """True if a person quoted it inside a sentence, between quotation marks."""

    @property
    def said(self) -> str:
        """The message and its continuation lines, joined into one line."""
        return " ".join((self.message, *self.following))


@dataclass(frozen=True, slots=True)
class Stack:
    """A dumped stack of one thread, innermost call first."""

    line_number: int
    speaker: Speaker
    title: str
    frames: tuple[LogFrame, ...]


@dataclass(frozen=True, slots=True)
class Log:
    """One parsed log."""

    name: str | None
    lines: tuple[LogLine, ...]
    errors: tuple[LoggedError, ...]
    stacks: tuple[Stack, ...]
    remarks: tuple[str, ...] = field(default=())
    """The parts that could not be read, with the reasons."""
    passages: tuple[Passage, ...] = ()
    """The log as it is in its file, or those parts of it that were kept."""

    said: str = ""
    """All lines without their prefixes, as one text to search."""
    torn: bool = False
    """True if processes that printed at the same time tore each other's lines."""

    def raw(self, number: int) -> str:
        """Return a line of the log in the form in which it is in the file."""
        for passage in self.passages:
            if passage.first <= number <= passage.first + passage.data.count(b"\n"):
                line = passage.data.split(b"\n")[number - passage.first]
                return line.decode("utf-8", "replace")
        return ""
