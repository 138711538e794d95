"""`coldfork mcp`: the tools `check`, `explain` and `fix`, served by the Model Context Protocol."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from coldfork import __version__
from coldfork.checking.inspection import Inspection
from coldfork.checking.reporting import report_of
from coldfork.checking.request import CheckRequest, configured
from coldfork.checking.session import CheckSession
from coldfork.cli.mending import write
from coldfork.mending.mender import Mending, mend
from coldfork.mending.patch import patch
from coldfork.model.causes import Applicability
from coldfork.model.errors import ColdforkError
from coldfork.report.formats import renderer
from coldfork.report.shared.options import Options

_INSTRUCTIONS = (
    "Finds, explains and mends the lines of Python code that wake an accelerator when a module is imported. "
    "Paths are relative to the folder in which the server was started. `coldfork skill` prints how to work "
    "with it; `next` in a record names commands for a shell."
)
_USUAL_LIMIT = 20


class Tools:
    """The tools; they share a session that caches files, and threads call them one at a time."""

    def __init__(self) -> None:
        self._session = CheckSession(hurried=False)
        self._turn = threading.Lock()

    def check(self, paths: list[str], profile: str | None = None, limit: int = _USUAL_LIMIT) -> str:
        """Find the lines that wake a device when a module is imported; one JSON object a line, causes first.

        Nothing is imported or run. At most `limit` causes are listed; 0 lists all.
        """
        with self._turn, _Told():
            inspection = self._session.inspect(_request(paths, profile))
            return _records(inspection, paths, profile, limit)

    def explain(self, rule: str = "", log: str = "") -> str:
        """Explain a rule by its name, or a log: the text of a traceback, or the output of a program."""
        with self._turn, _Told():
            if rule:
                from coldfork.rules.registry import page

                return page(rule).markdown
            from coldfork.diagnose.explaining import explain, read_log
            from coldfork.diagnose.sources import Sources

            where = Sources((), None)
            read = read_log(io.BytesIO(log.encode("utf-8", "replace")), None)
            said = explain([read], where.search(), installed=where.installed)
            return renderer("explanation", "text")(said, Options(version=__version__))

    def fix(
        self, paths: list[str], profile: str | None = None, unsafe: bool = False, write: bool = False
    ) -> str:
        """Mend what can be mended, and return the patch, then the records of the remaining findings.

        `unsafe` also applies fixes that may change what the program does. Without `write`, no file is
        changed.
        """
        with self._turn, _Told():
            allowed = Applicability.UNSAFE if unsafe else Applicability.SAFE
            done = mend(_request(paths, profile), self._session.inspect, allowed)
            shown = patch(done.files, os.path.relpath).decode("utf-8", "replace")
            if write:
                _write(done)
            left = _records(done.inspection, paths, profile, _USUAL_LIMIT, done.left)
            return f"{shown}\n{left}" if shown else left


class _Told:
    """A context that turns coldfork's errors into tool errors, which the agent sees."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _where: object) -> None:
        if isinstance(error, ColdforkError):
            raise ToolError(str(error)) from None


def _request(paths: list[str], profile: str | None) -> CheckRequest:
    return configured(tuple(map(Path, paths)), {"profile": profile}, {})


def _records(
    inspection: Inspection,
    paths: list[str],
    profile: str | None,
    limit: int,
    fixes: Mapping[str, Any] | None = None,
) -> str:
    from dataclasses import replace

    report = replace(report_of(inspection), fixes=fixes or {})
    words = ("--profile", profile) if profile else ()
    request = inspection.request
    options = Options(
        version=__version__,
        fail_on=request.fail_on,
        fail_for=request.fail_for,
        locate=inspection.locate,
        cell=inspection.cell,
        limit=limit or None,
        command=("coldfork", "check", *paths, *words),
    )
    return renderer("finding", "agent")(report, options)


def _write(done: Mending) -> None:
    for file in done.files:
        if not write(file):
            raise ToolError(f"{file.file} changed meanwhile; nothing more was written; ask again")


def serve() -> None:
    """Serve an agent on standard input and output until they are closed."""
    tools = Tools()
    server = MCPServer("coldfork", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING")
    for tool in (tools.check, tools.explain, tools.fix):
        server.tool(structured_output=False)(tool)
    server.run("stdio")
