"""Modules that are started: as `__main__`, Python runs them as other modules than an import does."""

from __future__ import annotations

_STARTED = ":__main__"


def started(name: str) -> str:
    """The name by which a module is known where it is the program."""
    return f"{name}{_STARTED}"


def is_started(name: str) -> bool:
    """Whether a name is that of a module as the program."""
    return name.endswith(_STARTED)


def imported(name: str) -> str:
    """The name by which a module is imported that may be the program."""
    return name.removesuffix(_STARTED)
