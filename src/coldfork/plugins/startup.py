"""Turn the guard on in every interpreter before its program: run by the pth file of `coldfork guard install`.

It costs a fraction of a millisecond: the guard listens, and the code that examines or watches is imported at
the first import from outside the standard library, or at the first fork.
"""

from __future__ import annotations

import os
import sys


def begin(mode: str) -> None:
    """Turn the guard on in the mode that was installed, unless COLDFORK_GUARD says otherwise."""
    asked = os.environ.get("COLDFORK_GUARD", "").strip().lower()
    if asked == "off" or sys.platform != "linux":
        return
    from coldfork.start.guard import MODES, guard
    from coldfork.start.guard.process import HERE

    if HERE.mode != "off":
        # In a virtual environment Python runs every pth file twice.
        return
    if asked and asked not in MODES:
        _tell(f"COLDFORK_GUARD={asked} is not a mode, choose {', '.join(MODES)}; the guard is on with {mode}")
        asked = ""
    HERE.observe_later()
    guard(asked or mode)


def _tell(what: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"coldfork: {what}\n")
