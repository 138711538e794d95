"""Gives a forked process the mark and the command line that its own start would have given it.

Both lie where the kernel put them when the server was started, and are read there by whoever looks at the
process from outside. The server is started with room for them.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_ARGUMENTS = 45
_ENVIRONMENT = 47
"""Where the addresses stand in the kernel's account of a process, counted from its state."""


def mark(variable: str, value: str, placeholder: str) -> None:
    """Put a value in the place of the one that a variable was started with, and that is as long or longer."""
    begin, end = _range(_ENVIRONMENT)
    old, new = f"{variable}={placeholder}".encode(), f"{variable}={value}".encode()
    if len(old) < len(new):
        raise ValueError("a mark does not fit into the place that is kept for it")
    at = _read("/proc/self/environ").find(old)
    if at < 0 or begin + at + len(old) > end:
        raise ValueError("the place that is kept for a mark was not found")
    _write(begin + at, new.ljust(len(old), b"\0"))


def entitle(words: Sequence[str]) -> None:
    """Show a command line, as much of it as there is room for."""
    begin, end = _range(_ARGUMENTS)
    text = b"\0".join(map(os.fsencode, words)) + b"\0"
    _write(begin, text[: end - begin - 1].ljust(end - begin, b"\0"))


def _range(field: int) -> tuple[int, int]:
    fields = _read("/proc/self/stat").rpartition(b")")[2].split()
    return int(fields[field]), int(fields[field + 1])


def _read(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


def _write(address: int, content: bytes) -> None:
    import ctypes

    ctypes.memmove(address, content, len(content))
