"""Recognises known troubles in how a script ended, so that whoever tells of it can quote cause and remedy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from coldfork.knowledge.troubles import Trouble, seen_in

_READ = 64 * 1024
"""So much of an output is looked at, from its end, where errors stand."""


def troubles_of(exception: Mapping[str, Any] | None, errors: str = "") -> tuple[Trouble, ...]:
    """The troubles whose signs stand in an exception, in what it came from, or in the errors of a script."""
    return tuple(seen_in("\n".join([errors[-_READ:], *_lines_of(exception)])))


def quoted(trouble: Trouble) -> str:
    """A trouble in one line: its name, the cause, the remedy and the command to type next."""
    said = f"{trouble.name}: {trouble.cause} {trouble.remedy}"
    return said if trouble.command is None else f"{said} Next: {trouble.command}"


def _lines_of(exception: Mapping[str, Any] | None) -> Iterator[str]:
    if exception is not None:
        for error in (exception, *(exception.get("caused_by") or ())):
            yield f"{error.get('type')}: {error.get('message')}"
