"""Modules that are started: by Python, as other modules than an import makes, or by a command."""

from __future__ import annotations

#: What stands behind the colon where Python is given the module itself.
_MAIN = "__main__"
#: What stands for the dots in a function's name.
_DOT = "/"


def started(name: str) -> str:
    """The name by which a module is known where it is the program."""
    return f"{name}:{_MAIN}"


def command(module: str, function: str) -> str:
    """The name by which a module is known of which a command calls a function."""
    return f"{module}:{function.replace('.', _DOT)}"


def is_started(name: str) -> bool:
    """Whether a name is that of a program: a module, or a function of one that a command calls."""
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
    return "" if is_main(name) else name.partition(":")[2].replace(_DOT, ".")
