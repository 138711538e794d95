"""The output of `coldfork warm status`: text for people, and JSON described by `schemas/warm.schema.json`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from coldfork.model.running import WarmServer, WarmServers
from coldfork.report.shared.characters import well_formed
from coldfork.report.shared.json_text import dump, headed, optional
from coldfork.report.shared.options import Options
from coldfork.report.shared.quantities import duration, plural
from coldfork.report.shared.sheets import Sheet

_MIB = 1 << 20
_STYLES = {"ready": "clean", "importing": "note", "unfit": "error", "gone": "warning"}


def as_text(servers: WarmServers, options: Options) -> str:
    """Write the servers as text that ends with a line about the keeper, the process that keeps them
    running.
    """
    return "\n".join(_lines(servers, Sheet(options))) + "\n"


def _lines(servers: WarmServers, sheet: Sheet) -> Iterator[str]:
    if servers.keeper is None:
        yield "No warm server runs."
        yield "Next: coldfork warm start torch"
        return
    for server in servers.servers:
        yield from _server(server, sheet)
    if servers.servers:
        yield ""
    count = sum(server.state == "ready" for server in servers.servers)
    yield (
        f"{plural(count, 'server')} ready; the keeper (pid {servers.keeper}) ends after "
        f"{duration(servers.idle_timeout_seconds or 0)} without a request."
    )
    yield "Next: coldfork warm stop"


def _server(server: WarmServer, sheet: Sheet) -> Iterator[str]:
    state = sheet.paint(_STYLES.get(server.state, "note"), server.state)
    modules = sheet.say(", ".join(server.modules))
    yield f"{modules}  {state}  pid {server.pid}"
    said = [sheet.say(server.python)]
    if server.state == "importing" and server.importing:
        said.append(f"importing {sheet.say(server.importing)}")
    if server.ready_after_seconds is not None:
        said.append(f"ready after {duration(server.ready_after_seconds)}")
        said.append(f"{plural(server.scripts, 'script')} started")
        said.append(f"idle for {duration(server.idle_seconds)}")
    if server.pss_bytes is not None:
        said.append(f"{round(server.pss_bytes / _MIB)} MiB")
    yield f"    {', '.join(said)}"
    if server.trouble:
        for line in server.trouble.splitlines():
            yield f"    {sheet.say(line)}"


def as_json(servers: WarmServers, options: Options) -> str:
    """Write the servers as JSON in plain ASCII, which no stream can garble."""
    contents = {
        "keeper": servers.keeper,
        "idle_timeout_seconds": servers.idle_timeout_seconds,
        "servers": [_server_object(one) for one in servers.servers],
    }
    return dump(headed(contents, options))


def _server_object(server: WarmServer) -> dict[str, Any]:
    return {
        "pid": server.pid,
        "python": well_formed(server.python),
        "modules": [well_formed(name) for name in server.modules],
        "state": server.state,
        "importing": optional(server.importing),
        "trouble": optional(server.trouble),
        "began": round(server.began, 3),
        "ready_after_seconds": server.ready_after_seconds,
        "idle_seconds": server.idle_seconds,
        "scripts": server.scripts,
        "pss_bytes": server.pss_bytes,
    }
