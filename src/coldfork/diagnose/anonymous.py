"""Removes hosts, users, home folders, device ids and secrets from what goes into bug reports."""

from __future__ import annotations

import os
import platform
import re
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from enum import StrEnum
from typing import TypeVar, cast

from coldfork.model.diagnosis import Checkup, Explanation
from coldfork.observe.recording import redaction
from coldfork.observe.secrets import identities
from coldfork.observe.secrets.identities import Identity

Said = TypeVar("Said", Checkup, Explanation)
_HOMES = re.compile(r"(?:[A-Za-z]:)?[/\\](?:home|Users)[/\\](?!Shared\b)[^/\\\s\"'<>:|]+")
"""Home folders in the paths of a log's author, on any system."""


def anonymous(said: Said, who: Identity | None = None) -> Said:
    """Return a copy of a result in which every text has been anonymised."""
    somebody = identity() if who is None else who

    def clear(text: str) -> str:
        return _HOMES.sub("~", redaction.text(identities.anonymous(text, somebody)))

    return cast(Said, _cleared(said, clear))


def _cleared(thing: object, clear: Callable[[str], str]) -> object:
    if isinstance(thing, StrEnum):
        return thing
    if isinstance(thing, str):
        return clear(thing)
    if isinstance(thing, tuple):
        return tuple(_cleared(part, clear) for part in thing)
    if is_dataclass(thing) and not isinstance(thing, type):
        parts = {field.name: _cleared(getattr(thing, field.name), clear) for field in fields(thing)}
        return replace(thing, **parts)
    return thing


def identity() -> Identity:
    """Return the names of this process's user and machine."""
    users = {os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")}
    with suppress(ImportError, KeyError, AttributeError):
        import pwd

        users.add(pwd.getpwuid(os.getuid()).pw_name)
    hosts = {socket.gethostname(), platform.node(), os.environ.get("HOSTNAME", "")}
    return Identity({*hosts, *(host.partition(".")[0] for host in hosts)}, users, os.path.expanduser("~"))  # noqa: PTH111
