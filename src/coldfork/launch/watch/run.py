"""Run a program under watch, as Python would run it, and add its end to the recording."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from coldfork.launch.plumbing import terminal
from coldfork.launch.plumbing.ask import environment
from coldfork.launch.plumbing.terminal import Ending
from coldfork.launch.watch.bystander import Bystander
from coldfork.model.errors import UsageError
from coldfork.observe.processes.programs import LOCKED
from coldfork.observe.processes.table import start_of
from coldfork.observe.recording.events import encode

#: Python's options that take a value, either in the same word or as the next one.
_WITH_VALUE = frozenset("WX")
_PLAIN = frozenset("bBdiOPqRsuvx")
#: With these options, Python only prints something, so there is no program to watch.
_ASKING = frozenset("V?")
_INTERPRETER = re.compile(r"(python|pypy)[0-9.]*t?(\.exe)?", re.IGNORECASE)
SMALLEST_LIMIT = 16 * 1024
#: Room reserved for the line that is added at the program's end.
_OWN_SHARE = 512


@dataclass(frozen=True, slots=True)
class PythonLine:
    """The words after `python`: options, then the program and its arguments."""

    options: tuple[str, ...] = ()
    program: tuple[str, ...] = ()
    """Begins with `-m`, `-c`, `-`, `--` or a file; empty if Python runs no program."""

    @property
    def words(self) -> tuple[str, ...]:
        """Return all words in the order in which they follow `python`."""
        return (*self.options, *self.program)


def split(words: Sequence[str], ours: Mapping[str, bool]) -> tuple[tuple[str, ...], PythonLine]:
    """Separate the long options named in `ours` from the other words before the program.

    `ours` maps each option to whether its value is the next word. All other words are for Python, in their
    order.
    """
    taken: list[str] = []
    options: list[str] = []
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        if word in ours or (word.startswith("--") and word != "--"):
            taken.append(word)
            if ours.get(word) and waiting:
                taken.append(waiting.pop())
            continue
        if word in ("-", "--") or not word.startswith("-"):
            return tuple(taken), PythonLine(tuple(options), (word, *reversed(waiting)))
        used = _read(word, waiting)
        if used is None:
            return tuple(taken), PythonLine(tuple(options), _program(word, waiting))
        if used == ("-h",):
            taken.append("--help")
        else:
            options.extend(used)
    return tuple(taken), PythonLine(tuple(options))


def without_python(line: PythonLine) -> tuple[str | None, PythonLine]:
    """Return the interpreter that the words begin with, as in `run -- python x.py`, and what it runs.

    A script that lies at hand under such a name is run as a script.
    """
    words = line.program[1:] if line.program[:1] == ("--",) else line.program
    if not words or line.options or not _INTERPRETER.fullmatch(Path(words[0]).name):
        return None, line
    if Path(words[0]).is_file() and not os.access(words[0], os.X_OK):
        return None, line
    others, rest = split(words[1:], {})
    if others:
        raise UsageError(f"{others[0]} runs no program; give it to {words[0]} itself")
    return words[0], rest


def _read(word: str, waiting: list[str]) -> tuple[str, ...] | None:
    """Read a word of short options, and the next word if that is its value; return None if the program
    begins.
    """
    for place, letter in enumerate(word[1:], 1):
        if letter in "cm":
            return None
        if letter in _WITH_VALUE:
            if place + 1 < len(word):
                return (word,)
            if not waiting:
                raise UsageError(f"-{letter} needs a value, as in python")
            return (word, waiting.pop())
        if letter == "h":
            return ("-h",)
        _refuse(letter)
    return (word,)


def _program(word: str, waiting: list[str]) -> tuple[str, ...]:
    place = next(place for place, letter in enumerate(word) if letter in "cm")
    if place + 1 == len(word) and not waiting:
        raise UsageError(f"-{word[place]} needs {'a module' if word[place] == 'm' else 'code'} after it")
    return (word, *reversed(waiting))


def _refuse(letter: str) -> None:
    if letter in LOCKED:
        raise UsageError(f"-{letter} {LOCKED[letter]}, which keeps coldfork out of the program; leave it out")
    if letter in _ASKING:
        raise UsageError(f"-{letter} runs no program; pass it to python itself")
    if letter not in _PLAIN:
        raise UsageError(f"python has no option -{letter}; options of coldfork begin with two dashes")


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """The program to run, and the settings for recording it."""

    program: PythonLine
    recording: Path
    limit: int
    python: str = sys.executable
    follow: bool = False
    virtual: str | None = None
    """A virtual device, NAME or NAME:N; child processes get it too, and so are followed."""
    exact: tuple[str, ...] = ()
    """Modules in which the exact line is found; `__main__` stands for the program's own file."""


@dataclass(frozen=True, slots=True)
class WatchedRun:
    """The outcome of a program that was run under watch, and whether anything was recorded."""

    ending: Ending
    watched: bool
    obstacle: str | None = None
    """Why the recording could not be completed, for example because the disk is full."""


def run(plan: WatchPlan, base: Mapping[str, str] = os.environ) -> WatchedRun:
    """Run a program under watch until it ends."""
    began = monotonic()
    variables = environment(_settings(plan, began), base, plan.virtual)
    beside: list[Bystander] = []

    def stand_beside(child: int) -> None:
        if plan.follow or plan.virtual is not None:
            beside.append(Bystander(plan.recording, child, began, lambda event: _add(plan, event)))
            beside[0].start()

    child, ending = terminal.run([plan.python, *plan.program.words], variables, stand_beside)
    ended = monotonic() - began
    for bystander in beside:
        bystander.stop()
    seen = plan.recording.stat().st_size > 0 if plan.recording.exists() else False
    if not seen:
        return WatchedRun(ending, seen, _obstacle(plan.recording))
    # A program cannot report its own exit status, or the signal that killed it.
    event = {"event": "exit", "t": round(ended, 6), "pid": child, "tid": child}
    last = {**event, "status": ending.status, "signal": ending.signal, "states": []}
    return WatchedRun(ending, seen, _add(plan, last, plan.limit))


def _settings(plan: WatchPlan, began: float) -> dict[str, Any]:
    return {
        "mode": "run",
        "recording": str(plan.recording),
        "file": _identity(plan.recording),
        "limit": plan.limit - _OWN_SHARE,
        "began": began,
        "since": start_of(),
        "follow": plan.follow or plan.virtual is not None,
        "stage2": list(plan.exact),
    }


def _identity(recording: Path) -> list[int] | None:
    try:
        status = recording.stat()
    except OSError:
        return None
    return [status.st_dev, status.st_ino]


def _obstacle(recording: Path) -> str | None:
    """Return why an empty recording cannot be written to; None if it can."""
    try:
        with recording.open("r+b", buffering=0) as stream:
            stream.write(b"\n")
            stream.truncate(0)
    except OSError as error:
        return error.strerror
    return None


def _add(plan: WatchPlan, event: dict[str, Any], limit: int | None = None) -> str | None:
    """Add a line unless the recording has reached its limit; return the reason if that fails."""
    line = encode(event)
    try:
        # A program that died while writing has left a line without an end, so begin a new one.
        with plan.recording.open("rb+") as stream:
            stream.seek(0, os.SEEK_END)
            size = stream.tell()
            stream.seek(max(size - 1, 0))
            whole = stream.read(1) in (b"\n", b"")
        piece = line if whole else b"\n" + line
        if size and size + len(piece) <= (limit or plan.limit - _OWN_SHARE):
            with plan.recording.open("ab", buffering=0) as stream:
                stream.write(piece)
    except OSError as error:
        return error.strerror
    return None
