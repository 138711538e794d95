"""The output formats by name; a format's module is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import MappingProxyType

from coldfork.model.errors import UsageError
from coldfork.model.findings import Report
from coldfork.report.options import Options

Renderer = Callable[[Report, Options], str]

FORMATS = MappingProxyType(
    {
        "text": "coldfork.report.text",
        "concise": "coldfork.report.concise",
        "json": "coldfork.report.json_format",
        "sarif": "coldfork.report.sarif",
        "github": "coldfork.report.github",
        "junit": "coldfork.report.junit",
    }
)


def renderer(name: str) -> Renderer:
    """The function that writes a report in this format."""
    if name not in FORMATS:
        raise UsageError(f"there is no format {name!r}; choose one of {', '.join(FORMATS)}")
    render: Renderer = import_module(FORMATS[name]).render
    return render
