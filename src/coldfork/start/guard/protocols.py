"""The interfaces of requests for modes and of permissions to fork, as the guard of a process uses them."""

from __future__ import annotations

from typing import Protocol


class ModeRequest(Protocol):
    """One requested mode, either by a plain call or for a block."""

    mode: str
    is_block: bool
    replaces: ModeRequest | None
    """The preceding plain call, until it is certain that this is a block."""


class Permission(Protocol):
    """A block whose forks are allowed, and the reason."""

    reason: str
    pid: int
    """The process that entered the block; forks by its children are not allowed."""
