"""Facts about the terminal to which a stream is connected, if any; these functions never raise errors."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether the stream is a terminal."""
    try:
        return stream is not None and stream.isatty()
    except (OSError, ValueError):
        return False


def columns(stream: TextIO | None) -> int | None:
    """Return the width of the terminal in columns; None if there is no terminal or its width is unknown."""
    # The width of this very stream: standard output may be a file even if standard error is a terminal.
    try:
        if stream is None or not is_terminal(stream):
            return None
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None
