"""The entry point of the `coldfork` command: runs scripts directly, and everything else through click."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from coldfork.cli.program import Program

    cli: Program

#: A collection of garbage is due after so many new objects.
_OFTEN_ENOUGH = 50_000
#: The module and the summary of each subcommand, so that `--help` imports none of them.
COMMANDS = {
    "demo": ("coldfork.cli.commands.demo:demo", "Break and mend a small program, step by step."),
    "check": (
        "coldfork.cli.commands.check:check",
        "Find the lines that wake an accelerator when a module is imported.",
    ),
    "probe": (
        "coldfork.cli.commands.probe:probe",
        "Import modules in fresh interpreters, and name the line that woke a device.",
    ),
    "run": (
        "coldfork.cli.commands.run:run",
        "Run a program as `python` does, and say what it did to accelerators.",
    ),
    "exec": (
        "coldfork.cli.commands.exec:exec_",
        "Run a Python script isolated from whatever started it.",
    ),
    "warm": (
        "coldfork.cli.commands.warm:warm",
        "Keep servers ready that have imported what scripts need.",
    ),
    "ps": (
        "coldfork.cli.commands.ps:ps",
        "Show what is awake or poisoned in running Python processes.",
    ),
    "preload": (
        "coldfork.cli.commands.preload:preload",
        "Find what a server may import before it forks workers, and why not the rest.",
    ),
    "explain": (
        "coldfork.cli.commands.explain:explain",
        "Explain a log: the failure, the guilty line, and what to do.",
    ),
    "doctor": (
        "coldfork.cli.commands.doctor:doctor",
        "Check whether this machine and environment are fit for devices.",
    ),
    "report": ("coldfork.cli.commands.report:report", "Show a recording, or how two of them differ."),
    "guard": (
        "coldfork.cli.commands.guard:guard",
        "Warn of forks that would break the child, or refuse them, in every program.",
    ),
    "rule": ("coldfork.cli.commands.rule:rule", "Explain a rule, or list them all."),
    "baseline": (
        "coldfork.cli.commands.baseline:baseline",
        "Accept today's findings, so that only new ones fail.",
    ),
    "lsp": ("coldfork.cli.commands.lsp:lsp", "Serve an editor: findings while you type, and their fixes."),
    "mcp": ("coldfork.cli.commands.mcp:mcp", "Serve an agent: the tools check, explain and fix."),
    "skill": (
        "coldfork.cli.commands.skill:skill",
        "Print what a coding agent needs to know for its work.",
    ),
    "completion": ("coldfork.cli.commands.completion:completion", "Print the completion script for a shell."),
}


def main() -> NoReturn:
    """Run the command line and exit."""
    words = sys.argv[1:]
    if words in (["--version"], ["-V"]):
        # Editors and scripts ask it often, and click would take twice as long as Python's own start.
        from coldfork import __version__

        sys.stdout.write(f"coldfork {__version__}\n")
        sys.exit(0)
    if words in (["--help"], ["-h"]):
        from coldfork.cli.front import columns_of_output, help_text

        sys.stdout.write(help_text(COMMANDS, columns_of_output()))
        sys.exit(0)
    if words[:1] == ["exec"]:
        # Scripts start sooner if neither click nor the other commands are loaded.
        from coldfork.cli import isolation

        options = isolation.read(words[1:])
        if options is not None:
            _leave(isolation.status(options))
    try:
        if words[:1] == ["check"]:
            # Editors and hooks run it often. Most of what it makes stays until it ends, so looking through
            # that for garbage costs more than it frees.
            gc.set_threshold(_OFTEN_ENOUGH)
            _leave(_program().status())
        _program().main()
    except KeyboardInterrupt:
        # While the command was being loaded; later on, the command itself answers.
        from coldfork.cli.failures import INTERRUPTED, note

        sys.stderr.write("\n")  # ends the line on which the terminal showed ^C
        note("interrupted")
        sys.exit(INTERRUPTED)
    raise AssertionError("click has exited")


def _leave(status: int) -> NoReturn:
    """Exit with this status, without finalising the interpreter, which would take 8 ms."""
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        # Let Python report this error with its usual message and status.
        sys.exit(status)
    os._exit(status)


def __getattr__(name: str) -> object:
    """Create `cli`, the whole command, on first use."""
    if name == "cli":
        return _program()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _program() -> Program:
    from coldfork.cli.program import program

    return program(COMMANDS)
