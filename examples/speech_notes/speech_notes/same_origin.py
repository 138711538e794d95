"""Accepts requests from pages of this server only, and only under a name that it goes by."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}


def is_local(host: str) -> bool:
    """Whether an address to listen on can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class SameOriginOnly:
    """Refuses requests that other web pages make on behalf of whoever is looking at them.

    A page anywhere can send a request to a server on your machine, and with a name that leads to 127.0.0.1 it
    could read the answer too. So a server that only this machine can reach goes by its local names alone, and
    a request that says where it comes from must come from here.
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app = app
        self._names = frozenset({"localhost", "127.0.0.1", "::1", host.lower()}) if is_local(host) else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        why = self._objection(headers.get("host", ""), headers.getlist("origin"))
        if why is not None:
            await PlainTextResponse(why, 403, {"connection": "close"})(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, send_with_headers)

    def _objection(self, host: str, origins: Iterable[str]) -> str | None:
        if self._names is not None and _name(f"//{host}") not in self._names:
            return "this server does not go by that name"
        if any(urlsplit(origin).netloc.lower() != host.lower() for origin in origins):
            return "another page may not send requests here"
        return None


def _name(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
