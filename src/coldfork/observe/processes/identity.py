"""Tells processes apart: a number may be used again, a number with the moment of its start may not."""

from __future__ import annotations

import os

from coldfork.observe.probes.maps import contents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Counted from behind the name, which stands in brackets and may hold anything.
_PARENT = 1
_STARTED = 19
_FLAGS = 6
_NOT_EXECUTED = 0x40
"""The kernel's flag of a process that runs what its parent did."""
_MOST_ANCESTORS = 16


class Kin:
    """One process as the kernel knows it at this moment."""

    __slots__ = ("name", "parent", "pid", "start")

    def __init__(self, pid: int, parent: int, start: int, name: str) -> None:
        self.pid = pid
        self.parent = parent
        self.start = start
        """When it was started, in the kernel's ticks since the machine was; `exec` leaves that as it is."""
        self.name = name
        """The file that it executes, cut to fifteen letters; still there when the process has ended."""


def kin(pid: int | str = "self") -> Kin | None:
    """A process by its number; None where it is gone, or the system has no such table."""
    try:
        before, _, after = contents(f"/proc/{pid}/stat").rpartition(b")")
        number, _, name = before.partition(b" (")
        fields = after.split()
        return Kin(int(number), int(fields[_PARENT]), int(fields[_STARTED]), os.fsdecode(name))
    except (OSError, ValueError, IndexError):
        return None


def has_executed(pid: int) -> bool:
    """Whether a process has become a program of its own since it was forked; True where nobody knows."""
    try:
        fields = contents(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        return not int(fields[_FLAGS]) & _NOT_EXECUTED
    except (OSError, ValueError, IndexError):
        return True


def start_of(pid: int | str = "self") -> int | None:
    """The start of a process, in the kernel's ticks."""
    found = kin(pid)
    return None if found is None else found.start


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


def ancestors(since: int | None) -> Iterator[Kin]:
    """The processes above this one, its parent first, as far as they were started `since` the watch began.

    Who is older is a stranger: the watch itself, what started it, or whoever adopts orphans.
    """
    number = os.getppid()
    for _ in range(_MOST_ANCESTORS):
        found = kin(number)
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
