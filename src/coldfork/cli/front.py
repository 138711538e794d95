"""The help of `coldfork` itself, as click lays it out; loading click for it would take four times as long."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping

DESCRIPTION = """\
Keep the accelerator cold until the right process wakes it.

coldfork reads Python source, runs none of it, and names every line that initialises CUDA, ROCm, XPU,
OpenCL or JAX when a module is imported, with the whole chain of calls from that line to the device.
"""
EPILOG = """\b
Start here:
  coldfork demo                            break and mend a small program, step by step
  coldfork check src/                      what wakes a device when it is imported
  coldfork check src/ --entry engine.api   only what importing engine.api runs
  coldfork rule device-init-at-import      what a rule means and what to write instead
  coldfork baseline write                  accept today's findings

\b
Exit status of check: 0 nothing found, 1 findings, 2 the check itself failed.
Settings come from flags, then COLDFORK_* variables, then [tool.coldfork] in pyproject.toml.
"""
WIDEST = 100
_NARROWEST = 50
_OPTIONS = (
    ("-V, --version", "Show the version and exit."),
    ("--debug", "Show the traceback when coldfork itself fails."),
    ("-h, --help", "Show this message and exit."),
)
_INDENT = "  "


def help_text(commands: Mapping[str, tuple[str, str]], columns: int) -> str:
    """Return the help for a terminal with this many columns; `commands` have a place and a summary each."""
    width = max(min(columns, WIDEST) - 2, _NARROWEST)
    summaries = [(name, summary) for name, (_, summary) in commands.items()]
    lines = ["Usage: coldfork [OPTIONS] COMMAND [ARGS]..."]
    for paragraph in DESCRIPTION.rstrip().split("\n\n"):
        lines += ["", *_filled(" ".join(paragraph.split()), width, _INDENT)]
    lines += ["", "Options:", *_listed(_OPTIONS, width), "", "Commands:", *_listed(summaries, width)]
    for block in EPILOG.rstrip().split("\b\n")[1:]:
        lines += ["", *(f"{_INDENT}{line}" for line in block.rstrip().splitlines())]
    return "\n".join(lines) + "\n"


def columns_of_output() -> int:
    """Return the width of standard output, as click would find it."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and told != "0":
        return int(told)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80 if sys.__stdout__ else 80
    except (OSError, ValueError):
        return 80


def _listed(rows: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    rows = list(rows)
    column = max(len(name) for name, _ in rows) + len(_INDENT) + 2
    for name, text in rows:
        first, *more = _filled(text, max(width - column, 10), "")
        yield f"{_INDENT}{name}".ljust(column) + first
        yield from (" " * column + line for line in more)


def _filled(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, replace_whitespace=False
    )
