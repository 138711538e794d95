"""Turn on the guard before the program of an interpreter; the pth file of `guard install` runs this.

It costs a fraction of a millisecond: at first the guard only listens. The code that examines or watches is
imported at the first import from outside the standard library, or at the first fork.
"""

from __future__ import annotations

import os
import sys


def begin(mode: str) -> None:
    """Turn on the guard in the installed mode, unless COLDFORK_GUARD sets another mode."""
    asked = os.environ.get("COLDFORK_GUARD", "").strip().lower()
    if asked == "off" or sys.platform != "linux":
        return
    from coldfork.start.guard import MODES, guard
    from coldfork.start.guard.process import HERE

    if HERE.mode != "off":
        # Does nothing the second time, because Python runs pth files twice in a virtual environment.
        return
    if asked and asked not in MODES:
        _tell(f"COLDFORK_GUARD={asked} is not a mode; choose {', '.join(MODES)}; the guard uses mode {mode}")
        asked = ""
    HERE.observe_later()
    guard(asked or mode)


def _tell(what: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"coldfork: {what}\n")
