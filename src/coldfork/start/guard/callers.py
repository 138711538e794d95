"""Find the code that is about to fork, so that warnings name the program's line and the advice fits."""

from __future__ import annotations

import os
import sys

from coldfork.observe.forking.purposes import LAUNCHERS, PLAIN
from coldfork.observe.installation import is_of_a_package, is_of_the_library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

_MACHINERY = (
    *LAUNCHERS,
    "coldfork.start",
    "concurrent.futures",
    "os",
    "pty",
    "subprocess",
    "threading",
    "torch.multiprocessing",
    "torch.utils.data",
)
"""Modules that fork for their callers; a warning names the line that called them."""


def users_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the program's own code, which requested a process.

    If only installed code is on the stack, as in a server started by its own command, return the innermost
    frame outside the modules that fork.
    """
    others = list(_outside_machinery(frame))
    own = (one for one in others if not _is_installed(one))
    return next(own, others[0] if others else frame)


def users_place(frame: FrameType | None) -> tuple[str, int] | None:
    """Return the file and the line of the program's innermost frame."""
    at = users_frame(frame)
    return None if at is None else (at.f_code.co_filename, at.f_lineno or 0)


def forking_package(frame: FrameType | None, purpose: str) -> str | None:
    """Return the installed package that forks on its own initiative, as a server does; None if the program
    forks.

    A caller of `os.fork` has no choice of start method. And if no code on the stack is the program's own, the
    user has not chosen this method either.
    """
    others = list(_outside_machinery(frame))
    if not others or not _is_installed(others[0]):
        return None
    if purpose != PLAIN and not all(map(_is_installed, others)):
        return None
    return str(others[0].f_globals.get("__name__", "")).partition(".")[0] or None


def _outside_machinery(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if not any(name == machine or name.startswith(machine + ".") for machine in _MACHINERY):
            yield frame
        frame = frame.f_back


def _is_installed(frame: FrameType) -> bool:
    """Return whether code was installed: a package, the standard library, or a package's command."""
    file = frame.f_code.co_filename
    return (
        is_of_the_library(file)
        or is_of_a_package(file)
        or os.path.dirname(file) == os.path.dirname(sys.executable)
    )
