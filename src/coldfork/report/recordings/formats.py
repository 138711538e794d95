"""The ways to show one recording, or two against each other; a way's module is imported when asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from coldfork.model.errors import UsageError
from coldfork.model.timelines import Recording
from coldfork.report.recordings.view import View

Renderer = Callable[[Recording, View], str]
Comparer = Callable[[Recording, Recording, View], str]

_ONE = MappingProxyType(
    {
        "text": "coldfork.report.recordings.text.report",
        "html": "coldfork.report.recordings.page.document",
        "json": "coldfork.report.recordings.json_format",
        "trace": "coldfork.report.recordings.trace",
        "speedscope": "coldfork.report.recordings.speedscope",
    }
)
_TWO = MappingProxyType(
    {
        "text": "coldfork.report.recordings.difference.text",
        "html": "coldfork.report.recordings.page.difference",
        "json": "coldfork.report.recordings.difference.json_format",
    }
)
FORMATS = tuple(_ONE)

_ENDINGS = (
    (".speedscope.json", "speedscope"),
    (".trace.json", "trace"),
    (".json", "json"),
    (".html", "html"),
    (".htm", "html"),
    (".txt", "text"),
)


def renderer(form: str) -> Renderer:
    """The function that shows one recording in this format."""
    render: Renderer = import_module(_ONE[form]).render
    return render


def comparer(form: str) -> Comparer:
    """The function that shows how two recordings differ, in this format."""
    if form not in _TWO:
        ways = ", ".join(_TWO)
        raise UsageError(f"two recordings cannot be compared as {form}; choose one of {ways}")
    render: Comparer = import_module(_TWO[form]).render
    return render


def form_for(output: str | None) -> str:
    """The format that goes with where the output goes: text for a terminal or a pipe, else by the ending."""
    if output is None:
        return "text"
    name = Path(output).name.lower()
    for ending, form in _ENDINGS:
        if name.endswith(ending):
            return form
    raise UsageError(f"the name {output} does not say which format to write; add --format")
