"""The file of `coldfork guard install`: one line in site-packages that Python runs whenever it starts.

The line turns the guard on if coldfork is there, and does nothing if coldfork was removed. Any other problem
is reported in one line. No interpreter fails to start because of it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

FILE = "coldfork-guard.pth"

NOT_COVERED = (
    "a fork made by C code, such as a library's or uWSGI's, which raises no event in Python",
    (
        "Python started with -S, which reads no .pth file; with -I, with -E and with a cleared environment "
        "the guard is on, in the installed mode, unless coldfork itself is found only through PYTHONPATH"
    ),
    "other interpreters, which need their own installation, and subinterpreters",
)
"""Cases that an installed guard does not see."""

# An error is reported only once, although Python runs the line twice in a virtual environment.
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
# Python runs only lines that begin with "import", each on its own.
_LINE = "import os, sys; exec({program!r})  # coldfork {version}: guard, mode {mode}\n"
# A file from any version is recognised, by the comment at its end.
_KNOWN = re.compile(
    r"import [^;\n]+; exec\((?P<program>.+)\)  # coldfork (?P<version>\S+): guard, mode (?P<mode>[a-z]+)\n"
)


@dataclass(frozen=True, slots=True)
class PthFile:
    """The content of an installed file."""

    mode: str
    version: str
    """The version of coldfork that wrote it."""


def written(mode: str, version: str) -> str:
    """Return the text of the file."""
    return _LINE.format(program=_PROGRAM.format(mode=mode), version=version, mode=mode)


def read(text: str) -> PthFile | None:
    """Parse the text of a file; None if no version of coldfork wrote it, or it is damaged."""
    known = _KNOWN.fullmatch(text)
    if known is None or not _begins(known["program"], known["mode"]):
        return None
    return PthFile(known["mode"], known["version"])


def _begins(literal: str, mode: str) -> bool:
    """Return whether the program in the line can run, and turns the guard on in this mode."""
    try:
        program = ast.literal_eval(literal)
        compile(program, FILE, "exec")
    except (SyntaxError, TypeError, ValueError):
        return False
    return "from coldfork.plugins.startup import begin" in program and f'begin("{mode}")' in program
