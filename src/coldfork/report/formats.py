"""The output formats, by subject and name; the module of a format is imported only when needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, overload

from coldfork.model.errors import UsageError

if TYPE_CHECKING:
    from coldfork.model.diagnosis import Checkup, Explanation
    from coldfork.model.findings import Report
    from coldfork.model.preloads import Preloading
    from coldfork.model.probes import Probing
    from coldfork.model.running import Census, WarmServers
    from coldfork.model.timelines import Recording
    from coldfork.report.shared.options import Options

FORMATS = MappingProxyType(
    {
        "finding": MappingProxyType(
            {
                "text": "coldfork.report.findings.text",
                "concise": "coldfork.report.findings.concise",
                "json": "coldfork.report.findings.json_format",
                "sarif": "coldfork.report.findings.hosts.sarif",
                "github": "coldfork.report.findings.hosts.github",
                "gitlab": "coldfork.report.findings.hosts.gitlab",
                "junit": "coldfork.report.findings.hosts.junit",
                "rdjson": "coldfork.report.findings.hosts.rdjson",
                "markdown": "coldfork.report.findings.markdown",
                "agent": "coldfork.report.findings.agent",
            }
        ),
        "probe": MappingProxyType(
            {
                "text": "coldfork.report.probes.text",
                "concise": "coldfork.report.probes.concise",
                "json": "coldfork.report.probes.json_format",
                "sarif": "coldfork.report.probes.sarif",
                "github": "coldfork.report.probes.github",
                "junit": "coldfork.report.probes.junit",
            }
        ),
        "recording": MappingProxyType(
            {
                "text": "coldfork.report.recordings.text",
                "html": "coldfork.report.recordings.page.document",
                "json": "coldfork.report.recordings.json_format",
                "trace": "coldfork.report.recordings.trace",
                "speedscope": "coldfork.report.recordings.speedscope",
            }
        ),
        "census": MappingProxyType(
            {
                "text": "coldfork.report.processes",
                "json": "coldfork.report.processes",
            }
        ),
        "servers": MappingProxyType(
            {
                "text": "coldfork.report.servers",
                "json": "coldfork.report.servers",
            }
        ),
        "preload": MappingProxyType(
            {
                "text": "coldfork.report.preloads.text",
                "json": "coldfork.report.preloads.json_format",
            }
        ),
        "difference": MappingProxyType(
            {
                "text": "coldfork.report.recordings.difference.text",
                "html": "coldfork.report.recordings.page.difference",
                "json": "coldfork.report.recordings.difference.json_format",
            }
        ),
        "explanation": MappingProxyType(
            {
                "text": "coldfork.report.explanations.text",
                "json": "coldfork.report.explanations.json_format",
                "markdown": "coldfork.report.explanations.markdown",
            }
        ),
        "checkup": MappingProxyType(
            {
                "text": "coldfork.report.checkups.text",
                "json": "coldfork.report.checkups.json_format",
                "markdown": "coldfork.report.checkups.markdown",
            }
        ),
    }
)
"""For each subject and format, the module, which has a function `render`, or `as_text` and `as_json`."""

_ENDINGS = (
    (".speedscope.json", "speedscope"),
    (".trace.json", "trace"),
    (".json", "json"),
    (".html", "html"),
    (".htm", "html"),
    (".txt", "text"),
)


@overload
def renderer(shown: Literal["finding"], name: str) -> Callable[[Report, Options], str]: ...
@overload
def renderer(shown: Literal["probe"], name: str) -> Callable[[Probing, Options], str]: ...
@overload
def renderer(shown: Literal["recording"], name: str) -> Callable[[Recording, Options], str]: ...
@overload
def renderer(shown: Literal["census"], name: str) -> Callable[[Census, Options], str]: ...
@overload
def renderer(shown: Literal["servers"], name: str) -> Callable[[WarmServers, Options], str]: ...
@overload
def renderer(shown: Literal["explanation"], name: str) -> Callable[[Explanation, Options], str]: ...
@overload
def renderer(shown: Literal["checkup"], name: str) -> Callable[[Checkup, Options], str]: ...
@overload
def renderer(shown: Literal["preload"], name: str) -> Callable[[Preloading, Options], str]: ...
@overload
def renderer(shown: Literal["difference"], name: str) -> Callable[[Recording, Recording, Options], str]: ...
def renderer(shown: str, name: str) -> Callable[..., str]:
    """Return the function that renders this subject in this format."""
    formats = FORMATS[shown]
    if name not in formats:
        known = f"choose one of {', '.join(formats)}"
        if shown == "difference":
            raise UsageError(f"two recordings cannot be compared as {name}; {known}")
        raise UsageError(f"there is no format {name!r}; {known}")
    module = import_module(formats[name])
    render: Callable[..., str] = getattr(module, f"as_{name}", None) or module.render
    return render


def format_of_file(output: str | None) -> str:
    """Return the recording format that belongs to a file name's suffix; text if there is none."""
    if output is None:
        return "text"
    file = Path(output).name.lower()
    for ending, name in _ENDINGS:
        if file.endswith(ending):
            return name
    raise UsageError(f"the format cannot be told from the name {output}; add --format")
