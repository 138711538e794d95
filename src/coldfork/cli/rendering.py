"""Output of results, for people or for programs, to standard output or to a file."""

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
    """Return whether people read this format; only such formats use the terminal's encoding, others UTF-8."""
    return form in _FOR_PEOPLE


def rendering(settings: Mapping[str, Any]) -> Options:
    """Return the options of a renderer for the output stream and the user's settings."""
    on_screen = is_for_people(settings["format"]) and not settings["output"]
    return Options(
        version=__version__,
        width=None if settings["output"] else output.terminal_width(),
        colour=on_screen and output.wants_colour(settings["color"]),
        links=output.link_form(settings["color"]) if on_screen else "",
        encoding=output.encoding() if on_screen else "utf-8",
    )


def rule_texts(names: Iterable[str]) -> dict[str, RuleText]:
    """Return the pages of these rules, for formats that show them."""
    from coldfork.rules.registry import page

    pages = [page(name) for name in names]
    return {page.name: RuleText(page.summary, page.markdown) for page in pages}


def deliver(text: str, settings: Mapping[str, Any], *, private: bool = False) -> None:
    """Write the result to the file in the settings, or else to standard output."""
    if settings["output"]:
        output.save(text, Path(settings["output"]), private=private)
    else:
        output.write(text, None if is_for_people(settings["format"]) else "utf-8")


def note_delivery(count: int, noun: str, settings: dict[str, Any]) -> None:
    """Print how many items, such as causes, were written to the output file, if there is one."""
    if settings["output"]:
        output.note(f"wrote {plural(count, noun)} to {settings['output']}")
