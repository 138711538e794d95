"""Names that stand for started programs and for modules whose functions are called; and names of tests."""

from __future__ import annotations

from functools import lru_cache

#: Follows the colon in the name of a program that Python runs as `__main__`.
_MAIN = "__main__"
#: Follows the colon in the name of a module whose functions have unknown callers.
_CALLED = "()"
#: Replaces the dots in the name of a function after the colon.
_DOT = "/"


def started(name: str) -> str:
    """Return the name that stands for a module run as a program."""
    return f"{name}:{_MAIN}"


def command(module: str, function: str) -> str:
    """Return the name that stands for a module run by a command that calls this function."""
    return f"{module}:{function.replace('.', _DOT)}"


def offering(name: str) -> str:
    """Return the name that stands for a module whose functions are called one by one."""
    return f"{name}:{_CALLED}"


def is_offering(name: str) -> bool:
    """Return whether a name stands for a module whose functions are called one by one."""
    return name.endswith(f":{_CALLED}")


def is_started(name: str) -> bool:
    """Return whether a name stands for a program or a module whose functions are called, not for an
    import.
    """
    _, colon, behind = name.partition(":")
    return bool(colon) and "." not in behind  # with a dot: a name inside a program


def imported(name: str) -> str:
    """Return the module name by which other code imports a program."""
    return name.partition(":")[0]


def is_main(name: str) -> bool:
    """Return whether a name stands for a module that runs as `__main__`."""
    return name.endswith(f":{_MAIN}")


def called(name: str) -> str:
    """Return the function called by the command that a name stands for; empty for any other name."""
    return "" if is_main(name) or is_offering(name) else name.partition(":")[2].replace(_DOT, ".")


@lru_cache(maxsize=8_192)  # a few thousand names are queried by every part of an analysis
def is_test(name: str, path: str) -> bool:
    """Return True for a test module, including one inside a package."""
    parts = path.split("/")
    stem = parts[-1]
    if stem.startswith("test_") or stem.endswith("_test.py") or stem == "conftest.py":
        return True
    return any(part in ("tests", "test", "testing") for part in parts[:-1]) or any(
        part in ("tests", "test") for part in name.split(".")[:-1]
    )
