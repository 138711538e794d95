"""The Python interpreter to run something with."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from coldfork.model.errors import UsageError


def find_interpreter(named: str | None) -> str:
    """The interpreter named, by path or as the shell finds it, else our own."""
    wanted = sys.executable if named is None else named
    if not wanted:
        raise UsageError("this process does not know its own Python interpreter; name one")
    found = shutil.which(wanted)
    if found is not None:
        # A virtual environment is found through the link, so it stays one.
        return str(Path(found).absolute())
    if Path(wanted).exists():
        raise UsageError(f"cannot start the Python interpreter {wanted!r}: Permission denied")
    raise UsageError(f"there is no Python interpreter {wanted!r}")
