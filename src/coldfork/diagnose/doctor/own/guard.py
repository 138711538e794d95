"""Which Pythons have the fork guard, in which mode, and what it misses.

The file that `coldfork guard install` writes is looked for beside the examined Python, beside coldfork's own,
and beside those on PATH. `--verbose` lists what an installed guard does not see.

- **ok**: it is on in the examined Python; or it is nowhere, and the message says how to get it.
- **warn**: COLDFORK_GUARD switches it off or names no mode, or it is on in other Pythons and not in this
  one.
- **fail**: its file was damaged, or coldfork has been removed since.
- **skipped**: this is not Linux.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.facts.interpreter import ExaminedPython
from coldfork.diagnose.doctor.facts.packages import InstalledPackages
from coldfork.model.diagnosis import Answer, fail, ok, skipped, together, warn
from coldfork.start.guard.interpreters import Interpreter
from coldfork.start.guard.pth_file import NOT_COVERED

_VARIABLE = "COLDFORK_GUARD"
_MODES = ("strict", "raise", "warn", "log", "off")


def examine(facts: Facts) -> Answer:
    """Look for the guard's `.pth` file and for the variable that overrides its mode."""
    if not facts.system.is_linux:
        return skipped(f"the guard needs Linux, and this is {facts.system.platform}")
    here = _interpreter(facts.python)
    elsewhere = [
        other for other in map(_interpreter, facts.pythons()) if other.folders[:1] != here.folders[:1]
    ]
    others = tuple(line for other in elsewhere for line in _told(other))
    lines = (*_told(here), *others)
    if not lines:
        return together(
            _of_variable(facts), ok("the fork guard is not installed; coldfork guard install switches it on")
        )
    troubles = [*_damaged(here), *_of_variable(facts)]
    if not _told(here):
        troubles.append(
            warn(
                "the fork guard is on in other Pythons, but not in this one",
                f"coldfork guard install{_which(facts)}",
                details=others,
            )
        )
    return together(
        troubles, ok("; ".join(_told(here)), *others, *(f"not covered: {one}" for one in NOT_COVERED))
    )


def _interpreter(python: ExaminedPython) -> Interpreter:
    """Return the same description of the interpreter as `coldfork guard`, without running it."""
    version = InstalledPackages(python.folders).version("coldfork")
    name = python.executable or str(python.prefix)
    return Interpreter(name, python.version_text, "linux", python.folders, version, None)


def _told(interpreter: Interpreter) -> list[str]:
    return [
        f"the fork guard is on, mode {file.mode}, in every program of {interpreter.named}"
        if file is not None
        else f"the fork guard is damaged in {interpreter.named}"
        for _, file in interpreter.pth_files()
    ]


def _damaged(interpreter: Interpreter) -> Iterator[Answer]:
    for path, file in interpreter.pth_files():
        if file is None:
            yield fail(f"{path} was damaged or changed by hand", "coldfork guard install writes it again")
        elif interpreter.coldfork is None:
            yield fail(
                f"{path} is there without the package, so it does nothing",
                f"coldfork guard uninstall --python {shlex.quote(interpreter.executable)}",
            )


def _of_variable(facts: Facts) -> Iterator[Answer]:
    value = facts.variables.get(_VARIABLE, "").strip().lower()
    if value == "off":
        yield warn(f"{_VARIABLE}=off switches it off in processes started from here", f"unset {_VARIABLE}")
    elif value and value not in _MODES:
        yield warn(f"{_VARIABLE}={value} is not a mode", f"set {_VARIABLE} to one of {', '.join(_MODES)}")


def _which(facts: Facts) -> str:
    return (
        ""
        if facts.python.is_own or facts.python.executable is None
        else f" --python {shlex.quote(facts.python.executable)}"
    )
