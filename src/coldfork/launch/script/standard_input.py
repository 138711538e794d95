"""What a script reads from its standard input."""

from __future__ import annotations

import os
from typing import IO, Any

from coldfork.launch.supervisor import client
from coldfork.model.errors import UsageError

Given = bytes | str | int | IO[Any] | None
"""Bytes, a text, an open file or its descriptor; None for nothing."""


class StandardInput:
    """What somebody gave a script to read, which every attempt at it reads from the same place on."""

    def __init__(self, given: Given, *, again: bool = False) -> None:
        """`again` says that there may be more than one attempt."""
        self._content = _content(given)
        self._descriptor = None if given is None or self._content is not None else _descriptor(given)
        self._place: int | None = None
        if again and self._descriptor is not None:
            self._place = place(self._descriptor)
            if self._place is None:
                raise UsageError(
                    f"stdin={given!r} can be read only once, and retries may need it again; read it, and "
                    "give what was read"
                )

    def opened(self) -> int:
        """A descriptor of ours, at the beginning of what is to be read."""
        if self._content is not None:
            return client.input_of(self._content)
        if self._descriptor is None:
            return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        put_back(self._descriptor, self._place)
        try:
            return os.dup(self._descriptor)
        except OSError:
            raise _unreadable(self._descriptor) from None


def place(descriptor: int) -> int | None:
    """Where a file is being read; None for what can be read only once."""
    try:
        return os.lseek(descriptor, 0, os.SEEK_CUR)
    except OSError:
        return None


def put_back(descriptor: int, place: int | None) -> None:
    """Have a file read from there again."""
    if place is not None:
        os.lseek(descriptor, place, os.SEEK_SET)


def _content(given: Given) -> bytes | None:
    if isinstance(given, str):
        return given.encode("utf-8", "surrogateescape")
    return bytes(given) if isinstance(given, bytes | bytearray | memoryview) else None


def _descriptor(given: object) -> int:
    try:
        return given if isinstance(given, int) else int(given.fileno())  # type: ignore[attr-defined]
    except (OSError, AttributeError, ValueError):
        raise _unreadable(given) from None


def _unreadable(given: object) -> UsageError:
    return UsageError(
        f"stdin={given!r} cannot be read from: give bytes, a text, an open file or its descriptor"
    )
