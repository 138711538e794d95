"""The warm servers of a user: the result of `coldfork warm status`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WarmServer:
    """One server, which has imported modules and forks scripts that need them."""

    pid: int
    python: str
    modules: tuple[str, ...]
    state: str
    """`importing`, `ready`, `unfit` or `gone`."""
    began: float
    """When it was started, in seconds since 1970."""
    idle_seconds: float
    """How long ago it was last asked for a script."""
    scripts: int
    """So many scripts it has started."""
    importing: str | None = None
    """The module that it is importing."""
    trouble: str | None = None
    """Why it cannot start scripts."""
    ready_after_seconds: float | None = None
    pss_bytes: int | None = None
    """Its share of memory, what others share with it divided among them."""


@dataclass(frozen=True, slots=True)
class WarmServers:
    """The keeper of a user and its servers."""

    keeper: int | None
    """The pid of the keeper; None while none runs."""
    idle_timeout_seconds: float | None
    """After so long without a request the keeper ends."""
    servers: tuple[WarmServer, ...] = ()
