"""What commands share: `--debug`, for tracebacks instead of one line, and the exit statuses."""

from __future__ import annotations

import click

FINDINGS = 1
"""What was looked for was found."""
ERROR = 2
"""The command could not do its work."""
INTERRUPTED = 130
"""What a shell says of a program that Ctrl-C ended."""


FLAG = "--debug"

#: `main` looks for the flag among the arguments, because an error may come before they are parsed.
debug_option = click.option(
    FLAG, is_flag=True, expose_value=False, help="Show the traceback when coldfork itself fails."
)
