"""`coldfork skill`: prints instructions on check, explain, fix and prove for a coding agent."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from coldfork.cli import output
from coldfork.cli.conventions import debug_option
from coldfork.model.errors import UsageError

_NAME = "SKILL.md"


@click.command(epilog="Agents look for skills in a folder of theirs: coldfork skill --install .agents/skills")
@click.option(
    "--install",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Write it to DIR/coldfork/SKILL.md instead, where an agent finds it.",
)
@debug_option
def skill(folder: Path | None) -> None:
    """Print what a coding agent needs to know for its work."""
    text = (files("coldfork.cli") / _NAME).read_text(encoding="utf-8")
    if folder is None:
        output.write(text, "utf-8")
        return
    file = folder / "coldfork" / _NAME
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
    output.save(text, file)
    output.note(f"wrote {file}")
