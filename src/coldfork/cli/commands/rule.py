"""`coldfork rule`: prints the pages of rules in the terminal."""

from __future__ import annotations

from typing import Any

import click

from coldfork.cli import output
from coldfork.cli.conventions import debug_option, format_option
from coldfork.rules import registry


def _complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(name) for name in registry.NAMES if name.startswith(incomplete)]


@click.command(epilog="Next: coldfork check src/ finds where your code breaks them.")
@click.argument("name", required=False, shell_complete=_complete)
@format_option(("text", "json"))
@debug_option
def rule(name: str | None, form: str) -> None:
    """Explain a rule, or list them all.

    A page says what the rule reports, why that is bad, what users see, and what to write instead.
    """
    chosen = (registry.page(name),) if name else registry.pages()
    if form == "json":
        import json

        objects = [_object(page) for page in chosen]
        output.write(json.dumps(objects[0] if name else objects, indent=2) + "\n")
    else:
        output.write(chosen[0].markdown if name else _listing(chosen))


def _object(page: registry.Page) -> dict[str, str]:
    return {
        "name": page.name,
        "severity": page.severity.value,
        "summary": page.summary,
        "markdown": page.markdown,
    }


def _listing(chosen: tuple[registry.Page, ...]) -> str:
    width = max(len(page.name) for page in chosen)
    lines = [f"{page.name:{width}}  {page.severity.value:7}  {page.summary}" for page in chosen]
    return "\n".join([*lines, "", "coldfork rule NAME prints a rule's page.", ""])
