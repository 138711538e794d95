"""`coldfork guard`: switches on the fork guard in every program of a Python interpreter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from coldfork.cli import output
from coldfork.cli.conventions import debug_option, format_option

if TYPE_CHECKING:
    from pathlib import Path

    from coldfork.start.guard.interpreters import Interpreter
    from coldfork.start.guard.pth_file import PthFile

_EPILOG = """\b
Examples:
  coldfork guard install                             warn of bad forks in every program of this Python
  coldfork guard install --mode raise                refuse those whose child is known to break
  coldfork guard install --mode strict               also refuse those whose child may break
  coldfork guard install --python .venv/bin/python   in the programs of another Python
  coldfork guard status
  coldfork guard uninstall

\b
COLDFORK_GUARD=strict|raise|warn|log|off in the environment of a program overrides the installed mode.
For one program alone, call coldfork.guard() at its beginning: nothing has to be installed.
Exit status: 0 done, 2 it could not be done.
"""

_REFUSES = {
    "strict": "refuses a fork whose child breaks if it touches what it inherits, and reports the others",
    "raise": "refuses a fork whose child is known to break. If the child breaks only when it touches "
    "what\n            it inherits, warns, and the child's error says why. Earlier versions refused "
    "that: see strict",
    "warn": "refuses nothing, but warns; raise and strict refuse",
    "log": "refuses nothing, but writes to the log; raise and strict refuse",
}
"""The effect of each mode, for `status`."""

python_option = click.option(
    "--python",
    metavar="PATH",
    help="The interpreter to install the guard in.  [default: the one that runs coldfork]",
)


@click.group(epilog=_EPILOG)
@debug_option
def guard() -> None:
    """Warn of forks that would break the child, or refuse them, in every program.

    The guard examines a process before it forks. If the child would inherit a runtime that it cannot use,
    the guard says so in the parent, with the import that woke the runtime and what to do instead; if the
    child then uses it, its error says so too.
    """


@guard.command()
@python_option
@click.option(
    "--mode",
    type=click.Choice(("strict", "raise", "warn", "log")),
    default="warn",
    help="What happens to a bad fork: `warn` and `log` report it, `raise` refuses it if the child is "
    "known to break, `strict` also if the child breaks when it touches what it inherits.  [default: "
    "warn]",
)
@debug_option
def install(python: str | None, mode: str) -> None:
    """Switch the guard on whenever this Python starts.

    One file is written, coldfork-guard.pth in its site-packages; uninstall removes it.
    """
    from coldfork.start.guard import interpreters

    interpreter = interpreters.ask(python)
    path = interpreters.install(interpreter, mode)
    output.write(f"The guard is on in every program of {interpreter.named}, mode {mode}.\n")
    output.write(f"Wrote {path}\nNext: COLDFORK_GUARD=off switches it off for one program\n")


@guard.command()
@python_option
@debug_option
def uninstall(python: str | None) -> None:
    """Remove what install wrote, and leave no trace."""
    from coldfork.start.guard import interpreters

    interpreter = interpreters.ask(python)
    removed = interpreters.uninstall(interpreter)
    if not removed:
        output.write(f"There was nothing to remove: the guard is not installed in {interpreter.named}.\n")
    for path in removed:
        output.write(f"Removed {path}\n")


@guard.command()
@python_option
@format_option(("text", "json"))
@debug_option
def status(python: str | None, form: str) -> None:
    """Show whether the guard is installed, where, and in which mode."""
    import os

    from coldfork.start.guard import interpreters

    interpreter = interpreters.ask(python)
    variable = os.environ.get("COLDFORK_GUARD") or None
    if form == "json":
        import json

        output.write(json.dumps(_object(interpreter, variable), indent=2) + "\n")
    else:
        output.write(_text(interpreter, variable, python))


def _object(interpreter: Interpreter, variable: str | None) -> dict[str, Any]:
    from coldfork.start.guard import interpreters, pth_file

    return {
        "schema_version": 1,
        "python": interpreter.executable,
        "python_version": interpreter.version,
        "coldfork": interpreter.coldfork,
        "coldfork_from": interpreter.home,
        "variable": variable,
        "doors": [
            {"path": str(path), "mode": file and file.mode, "written_by": file and file.version}
            for path, file in interpreter.pth_files()
        ],
        "not_covered": list(pth_file.NOT_COVERED),
        "bodies": {
            "read": list(interpreters.READ),
            "seconds": interpreters.SECONDS,
            "unread": list(interpreters.UNREAD),
        },
    }


def _text(interpreter: Interpreter, variable: str | None, python: str | None) -> str:
    from coldfork.start.guard import pth_file

    files = interpreter.pth_files()
    if not files:
        lines = [f"The guard is not installed in {interpreter.named}."]
        if variable is not None:
            lines.append(
                f"COLDFORK_GUARD={variable} is set; only programs that call coldfork.guard() read it."
            )
        lines.append(f"Next: coldfork guard install{_which(python)}")
        return "\n".join(lines) + "\n"
    lines = [line for path, file in files for line in _of_file(interpreter, path, file)]
    if interpreter.coldfork is not None:
        lines.append(f"  coldfork  {interpreter.coldfork}, from {interpreter.home}")
    if variable is not None:
        lines.append(f"  COLDFORK_GUARD={variable} is set here, and overrides the mode")
    if interpreter.coldfork is not None:
        lines += [*_bodies(), *(f"  not covered: {one}" for one in pth_file.NOT_COVERED)]
    if interpreter.coldfork is None:
        lines.append(f"Next: coldfork guard uninstall{_which(python)}")
    elif any(file is None for _, file in files):
        lines.append(f"Next: coldfork guard install{_which(python)} writes it again")
    return "\n".join(lines) + "\n"


def _bodies() -> list[str]:
    """Return lines about the parts of a worker's source that are read before the worker is started."""
    from coldfork.start.guard import interpreters

    seconds = f"{interpreters.SECONDS:g} seconds"
    return [
        "  bodies    while cuda, rocm or xpu is awake, what a worker will call for certain is read in its",
        f"            source, once for a function, in another process that gets {seconds}",
        *(f"  read: {one}" for one in interpreters.READ),
        *(f"  not read: {one}" for one in interpreters.UNREAD),
    ]


def _of_file(interpreter: Interpreter, path: Path, file: PthFile | None) -> list[str]:
    if file is None:
        return [f"The guard may be off in {interpreter.named}: {path} was damaged or changed by hand."]
    where = f"  pth file  {path}, written by coldfork {file.version}"
    if interpreter.coldfork is None:
        return [f"The guard is off in {interpreter.named}: coldfork has been removed.", where]
    on = f"The guard is on in every program of {interpreter.named}, mode {file.mode}."
    return [on, f"  {file.mode:8}  {_REFUSES[file.mode]}", where]


def _which(python: str | None) -> str:
    import shlex

    return f" --python {shlex.quote(python)}" if python else ""
