"""Modules by their names: started programs, modules whose functions are called, and tests."""

from __future__ import annotations

from functools import lru_cache

#: Follows the colon if Python is given the module itself.
_MAIN = "__main__"
#: The same for one whose functions have unknown callers.
_CALLED = "()"
#: Replaces the dots in a function's name.
_DOT = "/"


def started(name: str) -> str:
    """Return the name of a module as a program."""
    return f"{name}:{_MAIN}"


def command(module: str, function: str) -> str:
    """Return the name of a module whose function a command calls."""
    return f"{module}:{function.replace('.', _DOT)}"


def offering(name: str) -> str:
    """Return the name of a module whose functions are called."""
    return f"{name}:{_CALLED}"


def is_offering(name: str) -> bool:
    """Return whether a name is that of a module whose functions are called."""
    return name.endswith(f":{_CALLED}")


def is_started(name: str) -> bool:
    """Return whether a name is not that of an import, but of a program, or of functions that are called."""
    _, colon, behind = name.partition(":")
    return bool(colon) and "." not in behind  # with a dot it is something inside a program


def imported(name: str) -> str:
    """Return the name by which the module of a program is imported."""
    return name.partition(":")[0]


def is_main(name: str) -> bool:
    """Return whether a name is that of a module that Python is given itself, as `__main__`."""
    return name.endswith(f":{_MAIN}")


def called(name: str) -> str:
    """Return the function that a command calls in a module; empty for any other name."""
    return "" if is_main(name) or is_offering(name) else name.partition(":")[2].replace(_DOT, ".")


@lru_cache(maxsize=8_192)  # the same few thousand are queried by every part of an analysis
def is_test(name: str, path: str) -> bool:
    """Return True for test modules, also those inside packages."""
    parts = path.split("/")
    stem = parts[-1]
    if stem.startswith("test_") or stem.endswith("_test.py") or stem == "conftest.py":
        return True
    return any(part in ("tests", "test", "testing") for part in parts[:-1]) or any(
        part in ("tests", "test") for part in name.split(".")[:-1]
    )
