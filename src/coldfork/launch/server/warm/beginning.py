"""Gives a forked process what its own start would have given it: mark, command line, standard streams.

The first two lie where the kernel put them when the server was started, and are read there by whoever looks
at the process from outside. The server is started with room for them.
"""

from __future__ import annotations

import io
import os
import sys
from dataclasses import dataclass

from coldfork.observe.processes.table import Standing, contents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_STREAMS = (("stdin", "rb"), ("stdout", "wb"), ("stderr", "wb"))


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


def open_anew() -> None:
    """Make the streams of this process out of what its descriptors are now."""
    for number, (name, mode) in enumerate(_STREAMS):
        former = getattr(sys, f"__{name}__", None)
        if former is None:
            continue
        former.flush()
        made = _made(number, name, mode, former)
        setattr(sys, name, made)
        setattr(sys, f"__{name}__", made)


def _made(number: int, name: str, mode: str, former: Any) -> Any:
    unbuffered = mode == "wb" and isinstance(former.buffer, io.RawIOBase)
    binary: Any = io.open(number, mode, 0 if unbuffered else -1, closefd=False)  # noqa: UP020, SIM115
    (binary if unbuffered else binary.raw).name = f"<{name}>"
    stream = io.TextIOWrapper(
        binary,
        encoding=former.encoding,
        errors=former.errors,
        newline="\n",
        line_buffering=not former.write_through and (name == "stderr" or os.isatty(number)),
        write_through=former.write_through,
    )
    stream.mode = "r" if mode == "rb" else "w"  # type: ignore[misc]
    return stream
