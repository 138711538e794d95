"""The kernel's files about processes: `/proc`, or a folder in which somebody kept a copy of it.

Every question may meet a process that has ended meanwhile or that this user may not see: the answer is an
`OSError` then, and who asked says what that means.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from coldfork.observe.processes.table import Standing, contents

_CLOSE_ON_EXEC = 0o2000000


class ProcessFolder:
    """Reads the kernel's files about processes."""

    def __init__(self, root: str = "/proc") -> None:
        self._root = Path(root)

    def pids(self) -> list[int]:
        """The processes that this user is told of, in their order."""
        return sorted(self._numbers("."))

    def standing(self, pid: int) -> Standing:
        """What the kernel notes of a process."""
        return self._standing(f"{pid}/stat")

    def thread_starts(self, pid: int) -> dict[int, int]:
        """When each thread of a process was started, in ticks of the kernel's clock; by thread."""
        starts = {}
        for tid in self._numbers(f"{pid}/task"):
            try:
                starts[tid] = self._standing(f"{pid}/task/{tid}/stat").start
            except OSError:
                continue
        return starts

    def user(self, pid: int) -> int:
        """The number of the user whose process it is."""
        for line in self._read(f"{pid}/status").splitlines():
            if line.startswith(b"Uid:"):
                return int(line.split()[1])
        raise FileNotFoundError(f"{pid}/status names no user")

    def is_first(self, pid: int) -> bool:
        """Whether it is the first of its machine or container, which takes over every orphan there."""
        for line in self._read(f"{pid}/status").splitlines():
            if line.startswith(b"NSpid:"):
                return line.split()[-1] == b"1"
        return pid == 1

    def words(self, pid: int) -> tuple[str, ...]:
        """The command line of a process; empty for one that has none any more."""
        text = self._read(f"{pid}/cmdline").rstrip(b"\0")
        return tuple(word.decode("utf-8", "backslashreplace") for word in text.split(b"\0")) if text else ()

    def setting(self, pid: int, name: str) -> str | None:
        """A variable of the environment in which a process was started; what it set since does not show."""
        for pair in self._read(f"{pid}/environ").split(b"\0"):
            key, equals, value = pair.partition(b"=")
            if equals and os.fsdecode(key) == name:
                return os.fsdecode(value)
        return None

    def program(self, pid: int) -> str:
        """The file that a process runs."""
        return self._link(f"{pid}/exe").removesuffix(" (deleted)")

    def memory_map(self, pid: int) -> bytes:
        """Which files a process has in its memory."""
        return self._read(f"{pid}/maps")

    def open_files(self, pid: int) -> dict[int, str]:
        """What a process has open, by descriptor."""
        found = {}
        for descriptor in self._numbers(f"{pid}/fd"):
            try:
                found[descriptor] = self._link(f"{pid}/fd/{descriptor}")
            except FileNotFoundError:
                continue
        return found

    def closes_on_exec(self, pid: int, descriptor: int) -> bool:
        """Whether a descriptor would be closed by an exec, so that none can have handed it on."""
        for line in self._read(f"{pid}/fdinfo/{descriptor}").splitlines():
            if line.startswith(b"flags:"):
                return bool(int(line.split()[1], 8) & _CLOSE_ON_EXEC)
        return False

    def began(self) -> int:
        """When the machine was started, in seconds since 1970."""
        for line in self._read("stat").splitlines():
            if line.startswith(b"btime "):
                return int(line.split()[1])
        return 0

    def _standing(self, place: str) -> Standing:
        try:
            return Standing(self._read(place))
        except ValueError:
            raise ProcessLookupError(f"{place} holds nothing") from None

    def _numbers(self, place: str) -> Iterator[int]:
        return (int(entry.name) for entry in (self._root / place).iterdir() if entry.name.isdecimal())

    def _link(self, place: str) -> str:
        return str((self._root / place).readlink())

    def _read(self, place: str) -> bytes:
        return contents(str(self._root / place))
