"""The `coldfork` command: finds the subcommand, and turns errors into one line and an exit status."""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from coldfork import __version__
from coldfork.cli import output
from coldfork.cli.conventions import ERROR, FLAG, INTERRUPTED, debug_option
from coldfork.model.errors import ColdforkError, UsageError

#: Where each subcommand lives and what it does, so that `--help` imports none of them.
COMMANDS = {
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
        "Show what is awake or poisoned in Python processes that run.",
    ),
    "preload": (
        "coldfork.cli.commands.preload:preload",
        "Find what a server may import before it forks workers, and why not the rest.",
    ),
    "explain": (
        "coldfork.cli.commands.explain:explain",
        "Say what a log tells: the failure, the guilty line, and what to do.",
    ),
    "doctor": (
        "coldfork.cli.commands.doctor:doctor",
        "Say whether this machine and this environment are fit.",
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
    "completion": ("coldfork.cli.commands.completion:completion", "Print the completion script for a shell."),
}

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

EPILOG = """\b
Start here:
  coldfork check src/                      what wakes a device when it is imported
  coldfork check src/ --entry engine.api   only what importing engine.api runs
  coldfork rule device-init-at-import      what a rule means and what to write instead
  coldfork baseline write                  accept today's findings

\b
Exit status of check: 0 nothing found, 1 findings, 2 the check itself failed.
Settings come from flags, then COLDFORK_* variables, then [tool.coldfork] in pyproject.toml.
"""


class Program(click.Group):
    """The command group: imports a subcommand when it is called, and never shows a traceback unasked."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order in which they are met."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one subcommand."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse an unknown subcommand with the near match."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            from coldfork.rules.registry import near_match

            match = near_match(name, COMMANDS)
            hint = f"did you mean coldfork {match}?" if match else "coldfork --help lists them"
            raise UsageError(f"there is no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def main(self, args: Sequence[str] | None = None, *_: Any, **extra: Any) -> Any:
        """Run the command and exit with its status."""
        sys.exit(self._status(args, extra))

    def _status(self, args: Sequence[str] | None, extra: dict[str, Any]) -> int:
        try:
            status = super().main(args, **{**extra, "prog_name": "coldfork", "standalone_mode": False})
        except click.ClickException as error:
            error.show()
            return ERROR
        except (click.Abort, KeyboardInterrupt):
            return INTERRUPTED
        except Exception as error:
            return _explained(error, debug=FLAG in (sys.argv[1:] if args is None else args))
        return status if isinstance(status, int) else 0


def _explained(error: Exception, *, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    elif isinstance(error, ColdforkError):
        output.note(str(error))
    elif isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        output.note(f"{error.strerror}: raise the limit, as with ulimit -n 1024, and run it again")
    else:
        kind = type(error).__name__
        output.note(f"internal error: {kind}: {error}; run it again with --debug, and report what it says")
    return ERROR


@click.group(cls=Program, epilog=EPILOG, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="coldfork", message="%(prog)s %(version)s")
@debug_option
def cli() -> None:
    """Keep the accelerator cold until the right process wakes it.

    coldfork reads Python source, runs none of it, and names every line that initialises CUDA, ROCm, XPU,
    OpenCL or JAX when a module is imported, with the whole chain of calls from that line to the device.
    """


def main() -> None:
    """Run the command line and exit."""
    cli.main()
