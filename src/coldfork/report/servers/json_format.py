"""The JSON of `coldfork warm status`: schema_version 1, described by `schemas/warm.schema.json`."""

from __future__ import annotations

from typing import Any

from coldfork.model.running.warm_servers import WarmServer, WarmServers
from coldfork.report.shared.characters import well_formed
from coldfork.report.shared.json_text import dump, optional
from coldfork.report.shared.options import Options

SCHEMA_VERSION = 1


def render(servers: WarmServers, options: Options) -> str:
    """Write the servers as JSON in plain ASCII, which no stream can garble."""
    return dump(document(servers, options))


def document(servers: WarmServers, options: Options) -> dict[str, Any]:
    """The servers as JSON objects, keys in the order of the schema."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "coldfork", "version": options.version},
        "keeper": servers.keeper,
        "idle_timeout_seconds": servers.idle_timeout_seconds,
        "servers": [_server(one) for one in servers.servers],
    }


def _server(server: WarmServer) -> dict[str, Any]:
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
