"""Reads a command line as Python itself reads it: its own options, then the program and its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coldfork.model.errors import UsageError
from coldfork.observe.processes.programs import LOCKED

#: Python's options that take a value, in the same word or in the next one.
_WITH_VALUE = frozenset("WX")
_PLAIN = frozenset("bBdiOPqRsuvx")
#: With these, Python starts nothing that could be watched.
_ASKING = frozenset("V?")


@dataclass(frozen=True, slots=True)
class PythonLine:
    """What stands behind `python`: options, then the program with its arguments."""

    options: tuple[str, ...] = ()
    program: tuple[str, ...] = ()
    """Begins with `-m`, `-c`, `-`, `--` or a file; empty for what Python does without a program."""

    @property
    def words(self) -> tuple[str, ...]:
        """Everything, as it has to stand behind `python`."""
        return (*self.options, *self.program)


def split(words: Sequence[str], ours: Mapping[str, bool]) -> tuple[tuple[str, ...], PythonLine]:
    """Take the long options in `ours` out of what stands before the program.

    `ours` says for each whether a value follows in the next word. The rest is for Python, in its order.
    """
    taken: list[str] = []
    options: list[str] = []
    waiting = list(reversed(words))
    while waiting:
        word = waiting.pop()
        if word == "--help" or (word.startswith("--") and word != "--"):
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


def _read(word: str, waiting: list[str]) -> tuple[str, ...] | None:
    """One word of short options, with the next word if it belongs to it; None where the program begins."""
    for place, letter in enumerate(word[1:], 1):
        if letter in "cm":
            return None
        if letter in _WITH_VALUE:
            if place + 1 < len(word):
                return (word,)
            if not waiting:
                raise UsageError(f"-{letter} needs a value, as it does for python")
            return (word, waiting.pop())
        if letter == "h":
            return ("-h",)
        _refuse(letter)
    return (word,)


def _program(word: str, waiting: list[str]) -> tuple[str, ...]:
    place = next(place for place, letter in enumerate(word) if letter in "cm")
    if place + 1 == len(word) and not waiting:
        raise UsageError(f"-{word[place]} needs {'a module' if word[place] == 'm' else 'code'} behind it")
    return (word, *reversed(waiting))


def _refuse(letter: str) -> None:
    if letter in LOCKED:
        raise UsageError(
            f"-{letter} {LOCKED[letter]}, which keeps coldfork out of the program; run it without"
        )
    if letter in _ASKING:
        raise UsageError(f"-{letter} runs no program; ask python itself")
    if letter not in _PLAIN:
        raise UsageError(f"python has no option -{letter}; options of coldfork begin with two dashes")
