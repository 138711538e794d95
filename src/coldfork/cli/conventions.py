"""Options and exit statuses that have the same meaning in all commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click

from coldfork.cli.failures import DEBUG

Command = TypeVar("Command", bound=Callable[..., Any])

FINDINGS = 1
"""The exit status if the command found what it was looking for."""

#: The value is not used: `main` itself looks for the flag, because parsing the arguments may fail.
debug_option = click.option(
    DEBUG, is_flag=True, expose_value=False, help="Show the traceback when coldfork itself fails."
)

output_option = click.option(
    "--output",
    "target",
    metavar="FILE",
    type=click.Path(),
    help="Write the result to this file instead of standard output.",
)

colour_option = click.option(
    "--color",
    "colour",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    help="Whether to colour text; `auto` colours terminals unless NO_COLOR is set.  [default: auto]",
)


def format_option(names: Iterable[str]) -> Callable[[Command], Command]:
    """Return a decorator that adds a `--format` option with these formats; text is the default."""
    return click.option(
        "--format",
        "--output-format",
        "form",
        type=click.Choice(tuple(names)),
        default="text",
        help="The output format.  [default: text]",
    )
