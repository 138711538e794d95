"""`coldfork mcp`: the tool server that agents start."""

from __future__ import annotations

from importlib.util import find_spec

import click

from coldfork.cli.conventions import debug_option
from coldfork.model.errors import UsageError

_EPILOG = """\b
An agent starts it with this command line and talks to it on standard input and output:
  coldfork mcp

\b
It needs the extra `mcp`: pip install 'coldfork[mcp]'. Where an agent has a shell, coldfork skill is enough.
"""


@click.command(epilog=_EPILOG)
@debug_option
def mcp() -> None:
    """Serve an agent: the tools check, explain and fix."""
    if find_spec("mcp") is None:
        raise UsageError("the MCP server needs the package mcp: pip install 'coldfork[mcp]'")
    from coldfork.cli.serving import serve

    serve()
