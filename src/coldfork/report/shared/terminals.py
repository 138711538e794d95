"""All that is known of the terminal behind a stream, if one is there; asking never raises."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody watches this stream."""
    try:
        return stream is not None and stream.isatty()
    except (OSError, ValueError):
        return False


def columns(stream: TextIO | None) -> int | None:
    """How wide the terminal is; None where there is none, or where nobody has given it a size."""
    # Of this very stream: standard output may be a file while somebody watches standard error.
    try:
        if stream is None or not is_terminal(stream):
            return None
        return os.get_terminal_size(stream.fileno()).columns or None
    except (OSError, ValueError):
        return None
