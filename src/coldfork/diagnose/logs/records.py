"""What reading makes of a log: lines, frames, errors and dumps of stacks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from coldfork.diagnose.logs.streaming import Passage


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who wrote a line, as far as its prefix says; all processes without a prefix are one speaker."""

    name: str | None = None
    pid: int | None = None

    @property
    def known(self) -> bool:
        """Whether the line says anything about who wrote it."""
        return self.name is not None or self.pid is not None


NOBODY = Speaker()


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line as it stands in its file, without what terminals and containers add."""

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


@dataclass(frozen=True, slots=True)
class LogFrame:
    """One call on a stack that the log shows."""

    line_number: int
    """Where in the log."""
    path: str
    line: int | None
    function: str
    text: str = ""
    """The source line, where the log quotes it."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The path in parts, whichever system wrote it."""
        return _parts(self.path)


@dataclass(frozen=True, slots=True)
class LoggedError:
    """An exception, a warning or a fatal message, with the stack that stands above it."""

    line_number: int
    speaker: Speaker
    kind: str
    """The name of the exception without its module; empty for a line that only says something."""
    message: str
    following: tuple[str, ...] = ()
    """The lines below it that belong to its message, or stand where they would."""
    frames: tuple[LogFrame, ...] = ()
    header: str | None = None
    """`Process ForkProcess-1:` or whatever else introduced it."""
    begins: int = 0
    """The line of the log on which it begins."""
    quoted: bool = False
    """True where a person wrote it into a sentence, between quotation marks."""

    @property
    def said(self) -> str:
        """The message with what follows it, on one line."""
        return " ".join((self.message, *self.following))


@dataclass(frozen=True, slots=True)
class Stack:
    """The stack of one thread that a dump shows, innermost call first."""

    line_number: int
    speaker: Speaker
    title: str
    frames: tuple[LogFrame, ...]


@dataclass(frozen=True, slots=True)
class Log:
    """One log, read."""

    name: str | None
    lines: tuple[LogLine, ...]
    errors: tuple[LoggedError, ...]
    stacks: tuple[Stack, ...]
    remarks: tuple[str, ...] = field(default=())
    """What could not be read, and why."""
    passages: tuple[Passage, ...] = ()
    """The log as it stands in its file, or what was kept of it."""

    said: str = ""
    """All its lines as they are without their prefixes, to look for a word in all at once."""

    def raw(self, number: int) -> str:
        """A line as it stands in its file."""
        for passage in self.passages:
            if passage.first <= number <= passage.first + passage.data.count(b"\n"):
                line = passage.data.split(b"\n")[number - passage.first]
                return line.decode("utf-8", "replace")
        return ""
