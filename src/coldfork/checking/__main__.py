"""Reads a check's request from standard input, and prints its JSON: `python -m coldfork.checking`.

The request is a JSON object with `paths` and, optionally, `entries`, `search` (the folders of dependencies),
`profile`, `target_version`, `rules` and `overlays` (texts by path). Findings that the project's configuration
or baseline accepts are included; the configuration's facts about libraries are used.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from coldfork import __version__
from coldfork.checking import configuration as configurations
from coldfork.checking.configuration import Configuration
from coldfork.checking.inspection import inspect
from coldfork.checking.reporting import report_of
from coldfork.checking.request import CheckRequest
from coldfork.checking.settings import target_version
from coldfork.model.errors import ColdforkError, UsageError
from coldfork.report.findings.json_format import document
from coldfork.report.shared.options import Options
from coldfork.rules import registry
from coldfork.source.files.site_packages import search_path


def main() -> int:
    """Read the request from standard input; print the report, or print an error message to standard error."""
    try:
        report = report_of(inspect(_request(json.load(sys.stdin))))
    except (ColdforkError, ValueError) as problem:
        print(f"error: {problem}", file=sys.stderr)  # noqa: T201
        return 2
    json.dump(document(report, Options(version=__version__)), sys.stdout)
    return 0


def _request(question: Mapping[str, Any]) -> CheckRequest:
    paths = tuple(map(Path, question.get("paths", ())))
    if not paths:
        raise UsageError("the question names no paths")
    found = configurations.read(paths[0])
    version = target_version(question.get("target_version") or "")
    return CheckRequest(
        paths,
        Configuration(found.folder, knowledge=found.knowledge),
        overlays={path: text.encode() for path, text in question.get("overlays", {}).items()},
        profile=question.get("profile"),
        entries=tuple(question.get("entries", ())),
        search=_search(question.get("search", ())),
        target_version=version or sys.version_info[:2],
        rules=registry.selection(question.get("rules", ()), (registry.UNUSED_IGNORE,)),
    )


def _search(folders: Sequence[str]) -> tuple[Path, ...]:
    """Return these folders, and those to which their `.pth` files and editable installs refer."""
    return search_path(None, tuple(map(Path, folders))) if folders else ()


if __name__ == "__main__":
    sys.exit(main())
