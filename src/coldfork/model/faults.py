"""Faults of coldfork's own: each costs what was being looked at when it came up, and is told."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

from coldfork.model.errors import ColdforkError
from coldfork.model.observations import Unfinished

T = TypeVar("T")

_ROOT = f"{__name__.partition('.')[0]}."
_MOST = 200

FAILED = "coldfork itself failed on it: "
"""How the reason begins for which a file was not read, where it is a fault."""


def describe(problem: Exception) -> str:
    """Which error it was, and where in coldfork: what there is to report."""
    said = f"{type(problem).__name__}: {problem}".partition("\n")[0].removesuffix(": ")
    place = _place(problem.__traceback__)
    return f"{said[:_MOST]} ({place})" if place else said[:_MOST]


class Faults:
    """Notes what is missing from an answer for a fault."""

    def __init__(self) -> None:
        self.noted: dict[Unfinished, None] = {}

    def attempt(
        self,
        work: Callable[[], T],
        otherwise: T,
        module: str = "",
        path: str = "",
        line: int = 0,
        function: str = "",
    ) -> T:
        """The result of some work; where coldfork fails at it, that is noted, and the other one serves.

        Without a module, it is about the check as a whole.
        """
        try:
            return work()
        except ColdforkError:
            raise
        except Exception as problem:
            self.note(problem, module, path, line, function)
            return otherwise

    def note(
        self, problem: Exception, module: str = "", path: str = "", line: int = 0, function: str = ""
    ) -> None:
        """Take an error for a fault of coldfork's own."""
        said = describe(problem)
        self.noted[Unfinished(module, function or module, path, line, "fault", True, said)] = None


def _place(at: TracebackType | None) -> str:
    """The innermost line of coldfork's own on the way to an error."""
    place = ""
    while at is not None:
        name = at.tb_frame.f_globals.get("__name__", "")
        if name.startswith(_ROOT) and name != __name__:
            place = f"{name.removeprefix(_ROOT)}:{at.tb_lineno}"
        at = at.tb_next
    return place
