"""What the pth file of `coldfork guard install` runs in every interpreter, before the program.

It costs a fraction of a millisecond: the guard listens, and everything that examines or watches is imported
at the first import from outside the standard library, or at the first fork.
"""

from __future__ import annotations

import os
import sys


def begin(mode: str) -> None:
    """Switch the guard on in the mode that was installed, unless COLDFORK_GUARD says otherwise."""
    asked = os.environ.get("COLDFORK_GUARD", "").strip().lower()
    if asked == "off" or sys.platform != "linux":
        return
    from coldfork.start.guard import MODES, guard
    from coldfork.start.guard.process import HERE

    if HERE.mode != "off":
        # In a virtual environment Python runs every pth file twice.
        return
    if asked and asked not in MODES:
        _tell(
            f"COLDFORK_GUARD={asked} means nothing, it takes {', '.join(MODES)}; the guard is on with {mode}"
        )
        asked = ""
    HERE.observe_later()
    guard(asked or mode)


def _tell(what: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"coldfork: {what}\n")
