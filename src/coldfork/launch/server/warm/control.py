"""Control the keeper: prepare a server, show the keeper's state, end the keeper."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from coldfork.launch.plumbing import channel
from coldfork.launch.plumbing.interpreter import find_interpreter
from coldfork.launch.server.warm import protocol
from coldfork.launch.server.warm.attachment import TRIES, connected, existing, facts
from coldfork.launch.server.warm.protocol import Wanted
from coldfork.launch.supervisor.client import require_supervision
from coldfork.model.errors import ColdforkError, UsageError
from coldfork.model.running import WarmServer, WarmServers
from coldfork.observe.recording.events import encode


def prepare(
    modules: Sequence[str],
    environment: Mapping[str, str],
    *,
    python: str | None = None,
    idle: float | None = None,
    on_import: Callable[[str], object] = lambda module: None,
) -> WarmServer:
    """Prepare a server and wait for it; raise `UsageError` if these modules cannot be preloaded.

    `environment` is the scripts' environment; after `idle` seconds without a request all servers end.
    """
    require_supervision("a warm server")
    wanted = Wanted(find_interpreter(python), (), environment, None, modules)
    try:
        for _ in range(TRIES):
            server = _prepared(wanted, idle, on_import)
            if server is not None:
                return server
    except OSError as error:
        raise ColdforkError(f"cannot ask the keeper of warm servers: {error}") from None
    raise ColdforkError("the keeper of warm servers kept being replaced")


def _prepared(wanted: Wanted, idle: float | None, on_import: Callable[[str], object]) -> WarmServer | None:
    """Send one request; return None if the keeper has another version, and makes way for a new one."""
    with connected(idle=idle) as connection:
        descriptor = channel.holding("coldfork", encode(facts(wanted)))
        try:
            request = {"is": "prepare", "version": protocol.PRESENT, "idle": idle}
            channel.send(connection, request, [descriptor])
        finally:
            os.close(descriptor)
        while True:
            received = channel.receive(connection)
            if received is None:
                raise ColdforkError("the keeper of warm servers ended before it answered")
            answer, _ = received
            if answer["is"] == "importing":
                on_import(answer["module"])
            elif answer["is"] == "ready":
                return _server(answer["server"])
            elif answer["is"] == "again":
                return None
            else:
                raise UsageError(answer["why"])


def status() -> WarmServers:
    """Return the state of the keeper and its servers; empty if there is none."""
    answer = _asked("status")
    if answer is None:
        return WarmServers(None, None)
    servers = tuple(map(_server, answer.get("servers", ())))
    return WarmServers(answer.get("pid"), answer.get("idle_timeout_seconds"), servers)


def stop() -> int | None:
    """End the keeper and its servers, but no script; return the number of servers; None without a keeper."""
    answer = _asked("stop")
    return None if answer is None else int(answer.get("servers", 0))


def _asked(what: str) -> dict[str, Any] | None:
    require_supervision("a warm server")
    try:
        connection = existing()
        if connection is None:
            return None
        with connection:
            channel.send(connection, {"is": what, "version": protocol.PRESENT})
            received = channel.receive(connection)
            if received is not None:
                # The keeper closes the connection last, when it has released everything.
                channel.receive(connection)
    except OSError as error:
        raise ColdforkError(f"cannot ask the keeper of warm servers: {error}") from None
    return None if received is None else received[0]


def _server(told: Mapping[str, Any]) -> WarmServer:
    return WarmServer(**{**told, "modules": tuple(told["modules"])})
