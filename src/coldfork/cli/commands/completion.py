"""`coldfork completion`: prints the script with which a shell completes commands, flags and rules."""

from __future__ import annotations

import click

from coldfork.cli import output
from coldfork.cli.conventions import debug_option

_INSTALL = {
    "bash": "put it where bash looks: coldfork completion bash > ~/.bash_completion.d/coldfork",
    "zsh": "put it into a folder of $fpath: coldfork completion zsh > ~/.zfunc/_coldfork",
    "fish": "put it where fish looks: coldfork completion fish > ~/.config/fish/completions/coldfork.fish",
}

_EPILOG = "\b\n" + "\n".join(f"{shell}: {words}" for shell, words in _INSTALL.items())


@click.command(epilog=_EPILOG)
@click.argument("shell", type=click.Choice(tuple(_INSTALL)))
@debug_option
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for a shell."""
    from click.shell_completion import get_completion_class

    maker = get_completion_class(shell)
    if maker is None:
        raise click.UsageError(f"there is no completion for {shell}")
    # `source()` would run bash to find its version, which the template does not need.
    script = maker(context.find_root().command, {}, "coldfork", "_COLDFORK_COMPLETE")
    output.write(script.source_template % script.source_vars() + "\n")
