"""`coldfork lsp`: the language server, which editors start."""

from __future__ import annotations

from importlib.util import find_spec

import click

from coldfork.cli.conventions import debug_option
from coldfork.model.errors import UsageError

_EPILOG = """\b
An editor starts it with this command line and talks to it on standard input and output:
  coldfork lsp

\b
It needs the extra `lsp`: pip install 'coldfork[lsp]'. Settings come from [tool.coldfork] in pyproject.toml.
"""


@click.command(epilog=_EPILOG)
@click.option("--stdio", is_flag=True, help="Use standard input and output; this is the default.")
@debug_option
def lsp(stdio: bool) -> None:
    """Serve an editor: findings while you type, and their fixes."""
    if find_spec("pygls") is None:
        raise UsageError("the language server needs pygls: pip install 'coldfork[lsp]'")
    from coldfork.lsp.apart import Apart

    # Created before the other imports, because these may start threads, after which a fork is not safe.
    apart = Apart()
    from coldfork.lsp.features import main

    main(apart)
