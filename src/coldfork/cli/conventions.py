"""Options, exit statuses and names of modules that have the same meaning in all commands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from coldfork.cli.failures import DEBUG
from coldfork.model.errors import UsageError

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


def refuse_name(name: str) -> None:
    """Refuse a name that no import statement could contain, and the name of a file."""
    refuse_file(name)
    if all(part.isidentifier() for part in name.split(".")):
        return
    hint = ""
    if name.endswith(".py"):
        dotted = name.removesuffix(".py").strip("./").removeprefix("src/").replace("/", ".")
        hint = f"; write {dotted}, if that is how it is imported"
    raise UsageError(f"{name!r} is not the name of a module{hint}")


def refuse_file(name: str) -> None:
    """Refuse the name of a file or folder where the name of a module is wanted."""
    module = module_of(name)
    if module is not None:
        kind = "folder" if Path(name).is_dir() else "file"
        raise UsageError(f"{name} is a {kind}; the module is {module}")


def module_of(name: str) -> str | None:
    """Return the module that a file or folder is, as its package would import it; None if there is none."""
    path = Path(name)
    is_folder = path.is_dir() and path.parts != (name,)
    if not is_folder and not (path.suffix in (".py", ".pyi") and path.is_file()):
        return None
    whole = path.absolute()
    parts = [whole.name if is_folder else whole.stem]
    for folder in whole.parents:
        if not (folder / "__init__.py").is_file():
            break
        parts.append(folder.name)
    if parts[0] == "__init__" and len(parts) > 1:
        parts = parts[1:]
    return ".".join(reversed(parts)) if all(part.isidentifier() for part in parts) else None
