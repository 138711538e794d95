"""Gives a forked process the mark and the command line that its own start would have given it.

Both lie where the kernel put them when the server was started, and are read there by whoever looks at the
process from outside. The server is started with room for them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from coldfork.observe.processes.table import Standing, contents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Place:
    """Where a variable stands that a process was started with."""

    address: int
    length: int


def place_of(variable: str) -> Place:
    """The place of a variable that this process was started with; `ValueError` without it."""
    begin, _ = _own().environment
    carried = contents("/proc/self/environ")
    at = carried.index(f"{variable}=".encode())
    return Place(begin + at, carried.index(b"\0", at) - at)


def mark(place: Place, variable: str, value: str) -> None:
    """Put another variable into a place, as much of it as there is room for."""
    _write(place.address, f"{variable}={value}".encode()[: place.length].ljust(place.length, b"\0"))


def entitle(words: Sequence[str]) -> None:
    """Show a command line, as much of it as there is room for."""
    begin, end = _own().arguments
    text = b"\0".join(map(os.fsencode, words)) + b"\0"
    _write(begin, text[: end - begin - 1].ljust(end - begin, b"\0"))


def _own() -> Standing:
    return Standing(contents("/proc/self/stat"))


def _write(address: int, content: bytes) -> None:
    import ctypes

    ctypes.memmove(address, content, len(content))
