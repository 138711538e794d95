"""Who is about to fork: a warning names the line that wanted a process."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

_OURS = "coldfork.start.guard"

_MACHINERY = (
    "coldfork.start",
    "concurrent.futures",
    "multiprocessing",
    "os",
    "pty",
    "subprocess",
    "threading",
    "torch.utils.data",
)
"""Modules through which others fork; a warning points past them."""


def caller_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame that is not the guard's own; None where a thread began in `os.fork` itself."""
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(_OURS):
        frame = frame.f_back
    return frame


def users_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of a program that knows nothing of forks: the line that wanted a process."""
    at = frame
    while at is not None:
        name = str(at.f_globals.get("__name__", ""))
        if not any(name == machine or name.startswith(machine + ".") for machine in _MACHINERY):
            return at
        at = at.f_back
    return frame


def users_place(frame: FrameType | None) -> tuple[str, int] | None:
    """The file and the line of that frame."""
    at = users_frame(frame)
    return None if at is None else (at.f_code.co_filename, at.f_lineno or 0)
