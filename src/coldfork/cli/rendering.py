"""How commands write a result: for people or for programs, to standard output or to a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from coldfork import __version__
from coldfork.cli import output
from coldfork.report.shared.options import Options, RuleText
from coldfork.report.shared.quantities import plural

_FOR_PEOPLE = ("text", "concise")


def is_for_people(form: str) -> bool:
    """Whether people read this format, in the encoding of their terminal; programs read UTF-8."""
    return form in _FOR_PEOPLE


def rendering(settings: Mapping[str, Any]) -> Options:
    """Tell a renderer about the stream and the user's wishes for it."""
    on_screen = is_for_people(settings["format"]) and not settings["output"]
    return Options(
        version=__version__,
        width=None if settings["output"] else output.terminal_width(),
        colour=on_screen and output.wants_colour(settings["color"]),
        encoding=output.encoding() if on_screen else "utf-8",
    )


def rule_texts(names: Iterable[str]) -> dict[str, RuleText]:
    """The pages of these rules, for formats that show them."""
    from coldfork.rules.registry import page

    pages = [page(name) for name in names]
    return {page.name: RuleText(page.summary, page.markdown) for page in pages}


def deliver(text: str, settings: Mapping[str, Any], *, private: bool = False) -> None:
    """Write the result to the file that the settings name, else to standard output."""
    if settings["output"]:
        output.save(text, Path(settings["output"]), private=private)
    else:
        output.write(text, None if is_for_people(settings["format"]) else "utf-8")


def note_delivery(count: int, noun: str, settings: dict[str, Any]) -> None:
    """Say how many of these were written to a file."""
    if settings["output"]:
        output.note(f"wrote {plural(count, noun)} to {settings['output']}")
