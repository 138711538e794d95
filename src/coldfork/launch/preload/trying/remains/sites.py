"""The line of import-time code that runs just now."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

    Site = tuple[str | None, int | None]

_IS_FUNCTION = 0x1
"""The flag of code that is neither a module's nor a class's body."""
_OURS = __name__.rpartition(".launch.")[0] + "."


def site() -> Site:
    """File and line of the innermost body of a module or class that is being executed; nothing where there
    is none.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_flags & _IS_FUNCTION and not _is_machinery(frame):
            return code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None, None


def _is_machinery(frame: FrameType) -> bool:
    if frame.f_code.co_filename.startswith("<"):
        # Importlib's own frames, and what was made from a text: the line that had it made is further out.
        return True
    name = frame.f_globals.get("__name__")
    return isinstance(name, str) and name.startswith(_OURS)
