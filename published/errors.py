"""The error of everything outside the code: it is missing or refuses."""

from __future__ import annotations


class UnavailableError(Exception):
    """You asked for sources, an environment or a tool that cannot be had; the message says which and why."""
