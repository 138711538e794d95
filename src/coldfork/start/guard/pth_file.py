"""The door of `coldfork guard install`: one line in site-packages that Python runs whenever it starts.

The line is all there is to it. It switches the guard on if coldfork is there, does nothing if coldfork was
removed, and tells in one line what went wrong otherwise. No interpreter fails to start because of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FILE = "coldfork-guard.pth"

# In a virtual environment Python runs the line twice; what went wrong is told once.
_PROGRAM = """\
try:
    if os.environ.get("COLDFORK_GUARD") != "off":
        from coldfork.plugins.startup import begin
        begin("{mode}")
except Exception as error:
    removed = getattr(error, "name", None) in ("coldfork", "coldfork.plugins", "coldfork.plugins.startup")
    if sys.stderr is not None and not removed and not hasattr(sys, "coldfork_guard_failed"):
        sys.coldfork_guard_failed = True
        sys.stderr.write(f"coldfork: the fork guard is not on: {{type(error).__name__}}: {{error}}\\n")
"""
# Python runs only lines that begin with "import", and each by itself.
_LINE = "import os, sys; exec({program!r})  # coldfork {version}: guard, mode {mode}\n"
_KNOWN = re.compile(
    r"import os, sys; exec\(.+\)  # coldfork (?P<version>\S+): guard, mode (?P<mode>[a-z]+)\n"
)


@dataclass(frozen=True, slots=True)
class Door:
    """What a door says of itself."""

    mode: str
    version: str
    """The version of coldfork that wrote it."""


def written(mode: str, version: str) -> str:
    """The text of a door."""
    return _LINE.format(program=_PROGRAM.format(mode=mode), version=version, mode=mode)


def read(text: str) -> Door | None:
    """What the text of a door says; None if coldfork did not write it, or somebody has changed it since."""
    known = _KNOWN.fullmatch(text)
    if known is None or text != written(known["mode"], known["version"]):
        return None
    return Door(known["mode"], known["version"])
