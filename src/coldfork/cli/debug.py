"""`--debug`, which every command takes: tracebacks instead of one line."""

from __future__ import annotations

import click

FLAG = "--debug"

#: `main` looks for the flag among the arguments, because an error may come before they are parsed.
debug_option = click.option(
    FLAG, is_flag=True, expose_value=False, help="Show the traceback when coldfork itself fails."
)
