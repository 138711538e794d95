"""Modules that are started, by Python or by a command, and those whose functions somebody calls."""

from __future__ import annotations

#: What stands behind the colon where Python is given the module itself.
_MAIN = "__main__"
#: The same for one whose functions are called by whom nobody knows.
_CALLED = "()"
#: What stands for the dots in a function's name.
_DOT = "/"


def started(name: str) -> str:
    """The name by which a module is known where it is the program."""
    return f"{name}:{_MAIN}"


def command(module: str, function: str) -> str:
    """The name by which a module is known of which a command calls a function."""
    return f"{module}:{function.replace('.', _DOT)}"


def offering(name: str) -> str:
    """The name by which a module is known where its functions are called."""
    return f"{name}:{_CALLED}"


def is_offering(name: str) -> bool:
    """Whether a name is that of a module whose functions are called."""
    return name.endswith(f":{_CALLED}")


def is_started(name: str) -> bool:
    """Whether a name is that of something other than an import: a program, or functions that are called."""
    _, colon, behind = name.partition(":")
    return bool(colon) and "." not in behind  # with a dot it is something inside of a program


def imported(name: str) -> str:
    """The name by which the module of a program is imported."""
    return name.partition(":")[0]


def is_main(name: str) -> bool:
    """Whether a name is that of a module that Python is given itself, and that is `__main__` then."""
    return name.endswith(f":{_MAIN}")


def called(name: str) -> str:
    """The function that a command calls of a module; empty for any other name."""
    return "" if is_main(name) or is_offering(name) else name.partition(":")[2].replace(_DOT, ".")
