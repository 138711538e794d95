"""What `coldfork warm status` says to people: each server with what it has ready, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.model.running.warm_servers import WarmServer, WarmServers
from coldfork.report.shared.options import Options
from coldfork.report.shared.quantities import duration, plural
from coldfork.report.shared.sheets import Sheet

_MIB = 1 << 20
_STYLES = {"ready": "clean", "importing": "note", "unfit": "error", "gone": "warning"}


def render(servers: WarmServers, options: Options) -> str:
    """Write the servers as text that ends with a line about their keeper."""
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
