"""The output formats by name; a format's module is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import MappingProxyType

from coldfork.model.errors import UsageError
from coldfork.model.findings import Report
from coldfork.model.probes import Probing
from coldfork.report.shared.options import Options

Renderer = Callable[[Report, Options], str]
ProbeRenderer = Callable[[Probing, Options], str]

FORMATS = MappingProxyType(
    {
        "text": "coldfork.report.findings.text",
        "concise": "coldfork.report.findings.concise",
        "json": "coldfork.report.findings.json_format",
        "sarif": "coldfork.report.findings.sarif",
        "github": "coldfork.report.findings.github",
        "junit": "coldfork.report.findings.junit",
    }
)


#: The same names for `coldfork probe`.
PROBE_FORMATS = MappingProxyType(
    {
        "text": "coldfork.report.probes.text",
        "concise": "coldfork.report.probes.concise",
        "json": "coldfork.report.probes.json_format",
        "sarif": "coldfork.report.probes.sarif",
        "github": "coldfork.report.probes.github",
        "junit": "coldfork.report.probes.junit",
    }
)


def renderer(name: str) -> Renderer:
    """The function that writes a report in this format."""
    if name not in FORMATS:
        raise UsageError(f"there is no format {name!r}; choose one of {', '.join(FORMATS)}")
    render: Renderer = import_module(FORMATS[name]).render
    return render


def probe_renderer(name: str) -> ProbeRenderer:
    """The function that writes the result of `coldfork probe` in this format."""
    if name not in PROBE_FORMATS:
        raise UsageError(f"there is no format {name!r}; choose one of {', '.join(PROBE_FORMATS)}")
    render: ProbeRenderer = import_module(PROBE_FORMATS[name]).render
    return render
