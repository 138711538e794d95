"""The kernel's table of processes, `/proc`: its files, and its line about each process or thread."""

from __future__ import annotations

import os

#: The fields' positions, counted from after the name, which is in brackets and may contain anything.
_STATE, _PARENT, _FLAGS, _FAULTS, _THREADS, _START = 0, 1, 6, 7, 17, 19
_TIMES = slice(11, 15)
_LAYOUT = (23, 24, 25, 45, 46)
_ARGUMENTS, _ENVIRONMENT = slice(45, 47), slice(47, 49)
_FEWEST = 20
_CHUNK = 1 << 16
_KERNEL_THREAD = 0x00200000
_FORKED_WITHOUT_EXEC = 0x40
_ENDED = ("Z", "X", "x")


def contents(path: str) -> bytes:
    """Return the content of a file of `/proc`; raise `OSError` if it is missing or forbidden."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pieces = []
        while piece := os.read(descriptor, _CHUNK):
            pieces.append(piece)
    finally:
        os.close(descriptor)
    return b"".join(pieces)


class Standing:
    """A process, or a thread, as the kernel sees it at one moment."""

    __slots__ = ("_fields", "name", "pid")

    def __init__(self, said: bytes) -> None:
        """Parse the line; raise `ValueError` if it is not one."""
        before, _, after = said.rpartition(b")")
        number, _, name = before.partition(b" (")
        self.pid: int = int(number)
        self.name: str = name.decode("utf-8", "backslashreplace")
        """The name of the file that it executes, cut to fifteen letters; still there after the process has
        ended.
        """
        self._fields = after.split()
        if len(self._fields) < _FEWEST:
            raise ValueError("not a line about a process")

    @property
    def state(self) -> str:
        """A letter for the state: `R` runs, `S` waits, `Z` has ended, and so on."""
        return self._fields[_STATE].decode("ascii")

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended, but its parent has not yet waited for it."""
        return self.state in _ENDED

    @property
    def is_stopped(self) -> bool:
        """Whether it was stopped, by a signal or by a tracer."""
        return self.state in ("T", "t")

    @property
    def is_program(self) -> bool:
        """False for threads of the kernel and for ended processes."""
        return not self.flags & _KERNEL_THREAD and not self.has_ended

    @property
    def parent(self) -> int:
        """The number of its parent."""
        return int(self._fields[_PARENT])

    @property
    def flags(self) -> int:
        """The flags that the kernel keeps about the process."""
        return int(self._fields[_FLAGS])

    @property
    def is_noted(self) -> bool:
        """Whether the kernel's flags show how the process was started."""
        return self.flags != 0

    @property
    def forked(self) -> bool:
        """Whether the process was forked, and has not called exec since."""
        return bool(self.flags & _FORKED_WITHOUT_EXEC)

    @property
    def threads(self) -> int:
        """How many threads it has."""
        return int(self._fields[_THREADS])

    @property
    def start(self) -> int:
        """When it was started, in the kernel's ticks since boot; `exec` does not change it."""
        return int(self._fields[_START])

    @property
    def faults(self) -> int:
        """How many pages the kernel has provided or copied for the process."""
        return int(self._fields[_FAULTS])

    @property
    def times(self) -> tuple[int, int]:
        """Its processor time, and that of the children it has waited for, in ticks."""
        user, system, *of_children = map(int, self._fields[_TIMES])
        return user + system, sum(of_children)

    @property
    def layout(self) -> tuple[int, ...]:
        """The addresses of program, stack and arguments: an exec chooses new ones, a fork copies them.

        They are zeros if this user may not know them.
        """
        fields = self._fields
        return tuple([int(fields[place]) if place < len(fields) else 0 for place in _LAYOUT])

    @property
    def arguments(self) -> tuple[int, int]:
        """The addresses at which its command line begins and ends."""
        begin, end = map(int, self._fields[_ARGUMENTS])
        return begin, end

    @property
    def environment(self) -> tuple[int, int]:
        """The addresses at which its variables begin and end."""
        begin, end = map(int, self._fields[_ENVIRONMENT])
        return begin, end

    @property
    def status(self) -> int | None:
        """The exit status as `wait` returns it; None if the process runs, or has been waited for."""
        return int(self._fields[-1]) if self.has_ended else None

    def is_copy_of(self, other: Standing) -> bool:
        """Return whether one of the two was forked from the other, or both from a third."""
        return any(self.layout) and self.layout == other.layout


def standing(pid: int | str = "self") -> Standing | None:
    """Return the state of a process by its number; None if it has ended, or the system has no `/proc`."""
    try:
        return Standing(contents(f"/proc/{pid}/stat"))
    except (OSError, ValueError):
        return None


def start_of(pid: int | str = "self") -> int | None:
    """Return when a process was started, in the kernel's ticks."""
    found = standing(pid)
    return None if found is None else found.start


def has_executed(pid: int) -> bool:
    """Return whether a process has become another program since it was forked; True if unknown."""
    found = standing(pid)
    return found is None or not found.forked
