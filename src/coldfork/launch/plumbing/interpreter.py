"""Choose the Python interpreter that starts a process, and the variables that it needs for that."""

from __future__ import annotations

import os
import sys

from coldfork.model.errors import UsageError


def find_interpreter(named: str | None) -> str:
    """Return the named interpreter, given by path or found as the shell finds it; without a name, our own."""
    wanted = sys.executable if named is None else named
    if not wanted:
        raise UsageError("name a Python interpreter: this process does not know its own")
    if os.path.isabs(wanted) and os.path.isfile(wanted) and os.access(wanted, os.X_OK):
        return wanted
    from pathlib import Path
    from shutil import which

    found = which(wanted)
    if found is not None:
        # The link is not resolved, because Python finds a virtual environment through it.
        return str(Path(found).absolute())
    if os.path.exists(wanted):
        raise UsageError(f"cannot start the Python interpreter {wanted!r}: Permission denied")
    raise UsageError(f"there is no Python interpreter {wanted!r}")


def own_interpreter(other: str) -> str:
    """Return the interpreter for supervisors: our own, or `other` if this program merely embeds Python."""
    ours = sys.executable or ""
    return ours if "py" in os.path.basename(ours).lower() else other


def own_variables() -> dict[str, str]:
    """Return the environment of a supervisor: variables that Python and the dynamic loader need to start."""
    kept = ("LD_LIBRARY_PATH", "PATH", "TZ", "PYTHONHOME")
    return {name: os.environ[name] for name in kept if name in os.environ}
