"""Finds in a program's output the errors that Python printed, and the lines that led to them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FRAME = re.compile(r'\s*File "(.+)", line (\d+)')
_ERROR = re.compile(r"((?:\w+\.)*[A-Z_]\w*)(?:: ?(.*))?")

_PICKLING = re.compile(r"can(?:'t|not) (?:pickle|get local object)", re.IGNORECASE)
_BOOTSTRAPPING = "An attempt has been made to start a new process before"


@dataclass(frozen=True, slots=True)
class PrintedError:
    """An error with its traceback. Those of several processes may be mixed: then its frames are of both."""

    name: str
    message: str
    frames: tuple[tuple[str, int], ...]
    """Files and lines, outermost first."""

    @property
    def is_of_pickling(self) -> bool:
        """Whether something could not be pickled."""
        return self.name.endswith("PicklingError") or _PICKLING.search(self.message) is not None

    @property
    def is_of_a_start(self) -> bool:
        """Whether it came while a process was started, at the line that did so."""
        return any("/multiprocessing/popen_" in path for path, _ in self.frames)

    @property
    def is_of_bootstrapping(self) -> bool:
        """Whether a process was to be started by one that had not yet imported what it is to run."""
        return _BOOTSTRAPPING in self.message

    def __str__(self) -> str:
        """The error in one line, up to the end of its first sentence."""
        said = self.message.partition(". ")[0].rstrip(".")
        return f"{self.name}: {said}" if said else self.name


def printed_errors(output: str) -> Iterator[PrintedError]:
    """The errors in an output that have a traceback, in the order in which they were printed."""
    frames: list[tuple[str, int]] = []
    name, said = "", [""]
    for line in _COLOUR.sub("", output).splitlines():
        frame = _FRAME.match(line)
        if name and (frame or (line.strip() and not line[0].isspace())):
            error = _made(name, said, frames)
            yield error
            # Where two processes print the same at once, the message stands behind the second name.
            name, frames = "", frames if not error.message else []
        if frame:
            frames.append((frame[1], int(frame[2])))
        elif name:  # a message may have further lines, which are indented in those we look for
            said.append(line)
        elif frames and (head := _ERROR.fullmatch(line)):
            name, said = head[1], [head[2] or ""]
    if name:
        yield _made(name, said, frames)


def _made(name: str, said: list[str], frames: list[tuple[str, int]]) -> PrintedError:
    return PrintedError(name.rpartition(".")[2], " ".join(" ".join(said).split()), tuple(frames))
