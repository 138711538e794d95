"""What the guard of a process needs to know of those who asked for it, or for a fork."""

from __future__ import annotations

from typing import Protocol


class ModeRequest(Protocol):
    """One mode that was asked for: by a plain call, or for a block."""

    mode: str
    is_block: bool
    replaces: ModeRequest | None
    """The plain call before this one, until it is known whether this is one too."""


class Permission(Protocol):
    """A block whose forks are let through, and why."""

    reason: str
    pid: int
    """The process that entered the block: its children are not let through."""
