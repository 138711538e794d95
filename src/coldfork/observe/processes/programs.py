"""Find out whether a started program is Python, and which of its options prevent the watch."""

from __future__ import annotations

import os

from coldfork.observe.processes.identity import command_line, executable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Python's own options that prevent the watch, each with the reason.
LOCKED = {
    "E": "makes Python ignore PYTHONPATH",
    "I": "makes Python ignore PYTHONPATH",
    "S": "keeps Python from importing sitecustomize",
}
_WITH_VALUE = "WX"
OWN = "COLDFORK_OWN_WORK=1"
"""In a process's environment, marks a process that coldfork starts for itself, and not one of the
program's.
"""
_LONGEST_LINE = 256


def python_of(pid: int, candidates: Iterable[object]) -> str | None:
    """Return the Python that a newly started process executes; None for any other program.

    `candidates` are the files that it was told to execute. Before it has executed one, and after it has
    ended, the first of these that exists counts.
    """
    running = executable(pid)
    if running is None or command_line(pid) == command_line(os.getpid()):
        running = next((path for path in map(_path, candidates) if os.access(path, os.X_OK)), None)
        return None if running is None else python_at(running)
    return running if is_python(running) else None


def python_at(file: object) -> str | None:
    """Return the Python that runs if this path or descriptor is executed; None for any other program."""
    path = f"/proc/self/fd/{file}" if isinstance(file, int) else _path(file)
    running = os.path.realpath(_interpreter(path) or path)
    return running if is_python(running) else None


def is_python(path: str) -> bool:
    """Return whether an executable file is a Python, judged by its name."""
    name = path.rpartition("/")[2].lower()
    return name.startswith(("python", "pypy", "graalpy"))


def locked_out(command: Sequence[str], environment: Iterable[object] | None, variable: str) -> str | None:
    """Return why a Python with this command cannot be watched; None if it can.

    `environment` is the one that it is given, as `NAME=value`, or None for its parent's. `variable` is the
    name of the variable that carries the watch; it is empty if children are not watched.
    """
    if not variable:
        return "the processes that a program starts are watched only with --follow"
    for word in command[1:]:
        if not word.startswith("-") or word in ("-", "--") or word.startswith("--"):
            break
        for letter in word[1:]:
            if letter in LOCKED:
                return f"its option -{letter} {LOCKED[letter]}"
            if letter in _WITH_VALUE or letter in "cm":
                break
        if word[1] in "cm" or word[-1] in "cm":
            break
    if environment is not None and not any(_path(line).startswith(f"{variable}=") for line in environment):
        return "it was started with its own environment, which lacks the variables that load coldfork"
    return None


def is_own(environment: Iterable[object] | None) -> bool:
    """Return whether a process with this environment, `NAME=value`, works for coldfork itself."""
    return environment is not None and any(_path(line) == OWN for line in environment)


def _interpreter(path: str) -> str | None:
    """Return the program that a script names in its first line, by a path or through `env`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        line = os.read(descriptor, _LONGEST_LINE).partition(b"\n")[0]
    except OSError:
        return None
    finally:
        os.close(descriptor)
    if not line.startswith(b"#!"):
        return None
    words = os.fsdecode(line[2:]).split()
    return next((word for word in words if is_python(word)), words[0] if words else None)


def _path(word: object) -> str:
    return os.fsdecode(word) if isinstance(word, bytes | str | os.PathLike) else ""
