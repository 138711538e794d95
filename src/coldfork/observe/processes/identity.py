"""Facts about the process with a given number: its program, arguments, variables and ancestors."""

from __future__ import annotations

import os

from coldfork.observe.processes.table import Standing, contents, standing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_ANCESTORS = 16


def command_line(pid: int) -> list[str]:
    """Return the command that a process last executed; empty if the process has ended."""
    try:
        words = contents(f"/proc/{pid}/cmdline").split(b"\0")
    except OSError:
        return []
    return [os.fsdecode(word) for word in words[:-1]]


def environment(pid: int) -> list[bytes] | None:
    """Return a process's initial environment, as `NAME=value`; None if the system does not show it."""
    try:
        return contents(f"/proc/{pid}/environ").split(b"\0")[:-1]
    except OSError:
        return None


def executable(pid: int) -> str | None:
    """Return the file that a process executes; None if it has ended, or the system does not show it."""
    try:
        return os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)")
    except OSError:
        return None


def ancestors(since: int | None) -> Iterator[Standing]:
    """Yield the processes above this one, its parent first, that started at or after `since`.

    Older processes do not belong to the program: they are the watch itself, its ancestors, or the process
    that adopts orphans.
    """
    number = os.getppid()
    for _ in range(_MOST_ANCESTORS):
        found = standing(number)
        if since is None or found is None or found.start <= since:
            return
        yield found
        number = found.parent


def youngest_child() -> int | None:
    """Return the youngest child that this thread started and has not waited for; None if unknown."""
    try:
        listed = contents("/proc/thread-self/children").split()
    except OSError:
        return None
    return int(listed[-1]) if listed else None
