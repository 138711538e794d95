"""The interfaces of requests for modes and forks, as the guard of a process uses them."""

from __future__ import annotations

from typing import Protocol


class ModeRequest(Protocol):
    """One requested mode: by a plain call, or for a block."""

    mode: str
    is_block: bool
    replaces: ModeRequest | None
    """The plain call before this one, until it is known whether this is one too."""


class Permission(Protocol):
    """A block whose forks are let through, and why."""

    reason: str
    pid: int
    """The process that entered the block: its children's forks are not let through."""
