"""Add a note to a framework's error in a forked child: its cause lies in the parent.

Everything is imported in the parent. In the child only attributes are set: after a fork, an import or a lock
may wait for a thread that is gone.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from coldfork.observe.forking.touches import Touches, line_of
from coldfork.start.guard import messages

if TYPE_CHECKING:
    from collections.abc import Callable

    from coldfork.model.decisions import Reason


class Notes:
    """The note of this process if it was forked against advice, and how its errors get that note."""

    def __init__(self) -> None:
        self.text: str | None = None
        self._touches = Touches(self.add)
        self.loaded: Callable[[str], None] = self._touches.loaded
        self.hear: Callable[..., None] = self._touches.hear
        self._parent = 0
        self._place: tuple[str, int] | None = None

    def prepare(self, place: tuple[str, int] | None = None) -> None:
        """In the parent, before the fork, record this process and the line that requested the child."""
        self._parent = os.getpid()
        self._place = place

    def arm(self, reasons: tuple[Reason, ...]) -> None:
        """In the child, begin to add the note to errors about these runtimes."""
        self.text = messages.note(reasons, self._parent, self._place)
        names = [reason.accelerator for reason in reasons if reason.accelerator is not None]
        if not self._touches.arm(names):
            self.text = None

    def add(self, error: BaseException, accelerator: str, leaves: bool = False) -> None:
        """Add the note to an error, unless the error already has it."""
        if self.text is None or any(self.text in note for note in getattr(error, "__notes__", ())):
            return
        place = line_of(error)
        touched = "" if place is None else f"\n  {accelerator} was touched here by {place[0]}:{place[1]}"
        error.add_note(self.text + touched)
