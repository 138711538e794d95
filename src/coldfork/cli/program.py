"""The `coldfork` command, whose subcommands are imported when they are called."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

from coldfork import __version__
from coldfork.cli.conventions import debug_option
from coldfork.cli.failures import DEBUG, ERROR, INTERRUPTED, explained, note
from coldfork.cli.front import DESCRIPTION, EPILOG, WIDEST
from coldfork.model.errors import UsageError

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": WIDEST}


class Program(click.Group):
    """The command group: imports a subcommand when it is called, and shows tracebacks only with `--debug`."""

    commands_by_name: Mapping[str, tuple[str, str]] = {}
    """The module and the summary of each subcommand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names, in the order of the help."""
        return list(self.commands_by_name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one subcommand."""
        if cmd_name not in self.commands_by_name:
            return None
        module, _, attribute = self.commands_by_name[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse an unknown subcommand, and suggest a similar one."""
        name = args[0]
        if name not in self.commands_by_name and not name.startswith("-") and not ctx.resilient_parsing:
            from coldfork.rules.registry import near_match

            match = near_match(name, self.commands_by_name)
            hint = f"did you mean coldfork {match}?" if match else "coldfork --help lists them"
            raise UsageError(f"there is no command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of subcommands for the help, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in self.commands_by_name.items()])

    def main(self, args: Sequence[str] | None = None, *_: Any, **extra: Any) -> Any:
        """Run the command and exit with its status."""
        sys.exit(self.status(args, **extra))

    def status(self, args: Sequence[str] | None = None, **extra: Any) -> int:
        """Run the command and return its status."""
        try:
            status = super().main(args, **{**extra, "prog_name": "coldfork", "standalone_mode": False})
        except click.ClickException as error:
            error.show()
            return ERROR
        except (click.Abort, KeyboardInterrupt):
            note("interrupted")  # click has ended the line on which the terminal showed ^C
            return INTERRUPTED
        except Exception as error:
            return explained(error, debug=DEBUG in (sys.argv[1:] if args is None else args))
        return status if isinstance(status, int) else 0


def program(commands: Mapping[str, tuple[str, str]]) -> Program:
    """Return the whole command, with these subcommands."""

    @click.group(cls=Program, help=DESCRIPTION, epilog=EPILOG, context_settings=_CONTEXT)
    @click.version_option(__version__, "-V", "--version", message=f"coldfork {__version__}")
    @debug_option
    def cli() -> None:
        pass

    cli.commands_by_name = commands
    return cli
