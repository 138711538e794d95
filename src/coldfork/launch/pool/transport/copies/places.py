"""What several functions of one pickle share."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Place:
    """Stands for the globals, or for the variable, that the functions of one pickle share."""

    def __init__(self, reduced: tuple[Any, ...]) -> None:
        self.reduced = reduced
        self.is_filled = False
        """Whether a variable's value is on its way."""
