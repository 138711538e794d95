"""Modules by their names: those that are started, whose functions somebody calls, and those of tests."""

from __future__ import annotations

from functools import lru_cache

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


@lru_cache(maxsize=8_192)  # the same few thousand are asked about by every part of an analysis
def is_test(name: str, path: str) -> bool:
    """True for test modules, also those inside packages."""
    parts = path.split("/")
    stem = parts[-1]
    if stem.startswith("test_") or stem.endswith("_test.py") or stem == "conftest.py":
        return True
    return any(part in ("tests", "test", "testing") for part in parts[:-1]) or any(
        part in ("tests", "test") for part in name.split(".")[:-1]
    )
