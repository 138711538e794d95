"""How to show a recording: what the reader's stream can say, and whether source lines may go along."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Source = Callable[[str, int], str]


@dataclass(frozen=True, slots=True)
class View:
    """What a renderer may need besides the recording; every default suits a pipe."""

    version: str = ""
    """coldfork's own version."""
    width: int | None = None
    """Columns of the terminal; None when the output is no terminal, and then nothing is cut."""
    colour: bool = False
    encoding: str | None = "utf-8"
    source: Source = lambda path, line: ""
    """The text of a line of a file; empty where it is not to be shown or cannot be."""
