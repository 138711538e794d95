"""Notice when Python begins to run the program itself, which it never does if the program's file is
missing.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

_RUNS = ("cpython.run_command", "cpython.run_file", "cpython.run_module", "cpython.run_stdin")
"""The audit events about the main program, which Python raises before it searches for the file."""
_EXECUTES = "exec"
_RUNPY = ("runpy", "_run_code")
"""The function that runs a module as the main program."""
_LIBRARY = os.path.dirname(os.__file__) + os.sep


class Beginning:
    """Listens through an audit hook's table of actions, and removes itself once the program runs."""

    def __init__(self, actions: dict[str, Callable[[tuple[Any, ...]], None]]) -> None:
        self.begun: bool = False
        """Whether any code of the program was executed, including that of a package that contains it."""
        self._actions = actions
        actions.update(dict.fromkeys(_RUNS, self._runs))

    def _runs(self, given: tuple[Any, ...]) -> None:
        for event in _RUNS:
            self._actions.pop(event, None)
        if given and str(given[0]).endswith(".pyc"):
            # Python executes a .pyc file without raising an event.
            self.begun = os.path.exists(given[0])
        else:
            self._actions[_EXECUTES] = self._executes

    def _executes(self, given: tuple[Any, ...]) -> None:
        hook = sys._getframe().f_back
        asker = None if hook is None else hook.f_back
        if _is_main(asker) or not _is_of_python(given[0].co_filename):
            self.begun = True
            self._actions.pop(_EXECUTES, None)


def _is_main(asker: FrameType | None) -> bool:
    """Return whether the executed code is the main program, which only Python itself or `runpy` executes."""
    return asker is None or (asker.f_globals.get("__name__"), asker.f_code.co_name) == _RUNPY


def _is_of_python(file: str) -> bool:
    """Return whether code is in the standard library, which Python imports to find the program."""
    return file.startswith("<") or (file.startswith(_LIBRARY) and "-packages" not in file)
