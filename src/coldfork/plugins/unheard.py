"""At the end of a program that uses coldfork, report which variables had no effect on it.

Only an installed guard, or one of coldfork's commands, reads these variables; if they are set for a plain
`python`, nothing reads them.
"""

from __future__ import annotations

import atexit
import os
import sys
from functools import cache

GUARD, VIRTUAL = "COLDFORK_GUARD", "COLDFORK_VIRTUAL"
_READ_BY = {GUARD: "coldfork.start.guard.process", VIRTUAL: "coldfork.virtual.installation"}
"""For each variable, the module that is loaded in every process in which the variable had an effect."""
_INSTEAD = {
    GUARD: "the guard is not installed in this Python; run `coldfork guard install`, or have the program "
    "call coldfork.guard()",
    VIRTUAL: "only `coldfork run` and the other commands read it; have the program call "
    "coldfork.virtual.install({value!r})",
}


@cache
def watch() -> None:
    """Check this when the program ends."""
    atexit.register(_tell, os.getpid())


def _tell(home: int) -> None:
    if os.getpid() != home or _is_child():
        return
    for name, module in _READ_BY.items():
        value = os.environ.get(name, "").strip()
        if value and value.lower() != "off" and module not in sys.modules and sys.stderr is not None:
            instead = _INSTEAD[name].format(value=value)
            sys.stderr.write(f"coldfork: {name}={value} had no effect on this program: {instead}\n")


def _is_child() -> bool:
    """Return whether this is a child of multiprocessing, whose parent makes the report."""
    processes = sys.modules.get("multiprocessing.process")
    return processes is not None and processes.parent_process() is not None
