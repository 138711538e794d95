"""Processes by their numbers: what each executes, with which words and variables, and who is above whom."""

from __future__ import annotations

import os

from coldfork.observe.processes.table import Standing, contents, standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_ANCESTORS = 16


def command_line(pid: int) -> list[str]:
    """What a process was told to execute last; empty where it is gone."""
    try:
        words = contents(f"/proc/{pid}/cmdline").split(b"\0")
    except OSError:
        return []
    return [os.fsdecode(word) for word in words[:-1]]


def environment(pid: int) -> list[bytes] | None:
    """The environment that a process was given, `NAME=value`; None where that is not told."""
    try:
        return contents(f"/proc/{pid}/environ").split(b"\0")[:-1]
    except OSError:
        return None


def executable(pid: int) -> str | None:
    """The file that a process executes; None where that is not told, as of one that has ended."""
    try:
        return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:
        return None


def ancestors(since: int | None) -> Iterator[Standing]:
    """The processes above this one, its parent first, as far as they were started `since` the watch began.

    Who is older is a stranger: the watch itself, what started it, or whoever adopts orphans.
    """
    number = os.getppid()
    for _ in range(_MOST_ANCESTORS):
        found = standing(number)
        if since is None or found is None or found.start <= since:
            return
        yield found
        number = found.parent


def youngest_child() -> int | None:
    """The child that this thread started last and has not waited for; None where that is not told."""
    try:
        listed = contents("/proc/thread-self/children").split()
    except OSError:
        return None
    return int(listed[-1]) if listed else None
