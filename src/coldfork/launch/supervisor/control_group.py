"""A control group (cgroup v2) for one tree of processes, if this user may make one.

The kernel then measures the tree exactly, and enforces a cap on memory itself. A group is made in the
caller's own group or in one above, wherever this user may write: as root, and in groups that systemd has
delegated (`Delegate=yes` with `DelegateSubgroup=`, or a session of the user's own).
"""

from __future__ import annotations

import os
from time import sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "coldfork-"
PROCESSES = "cgroup.procs"
_TRIES = 50
_AGAIN_SECONDS = 0.002


class ControlGroup:
    """A control group for the processes that enter it and all their descendants."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.entrance: str = os.path.join(path, PROCESSES)
        """The file of the group to which a process writes 0 to enter."""

    def hold_to(self, most: int) -> bool:
        """Have the kernel cap the group's memory and kill the group at the cap; return False if it cannot."""
        try:
            self._write("memory.max", str(most))
        except OSError:
            return False
        for name, value in (("memory.swap.max", "0"), ("memory.oom.group", "1")):
            try:
                self._write(name, value)
            except OSError:
                # The machine has no swap, or its kernel is older than 4.19 and kills only one process; we
                # kill the rest.
                continue
        return True

    def used(self) -> bool:
        """Return whether any process has entered the group."""
        return bool(self._read(PROCESSES)) or self.seconds() > 0

    def seconds(self) -> float:
        """Return the processor time of all processes that were ever in the group."""
        return self._number("cpu.stat", b"usage_usec") / 1_000_000

    def kills(self) -> int:
        """Return how many of the group's processes the kernel has killed because memory ran out."""
        return self._number("memory.events", b"oom_kill")

    def memory(self) -> int:
        """Return the group's highest memory use; before Linux 5.19, the present one."""
        for name in ("memory.peak", "memory.current"):
            said = self._read(name).strip()
            if said.isdigit():
                return int(said)
        return 0

    def remove(self) -> None:
        """Remove the group; processes that were just killed may take a moment to leave it."""
        for _ in range(_TRIES):
            try:
                os.rmdir(self.path)
            except FileNotFoundError:
                return
            except OSError:
                sleep(_AGAIN_SECONDS)
            else:
                return

    def _number(self, name: str, key: bytes) -> int:
        for line in self._read(name).splitlines():
            word, _, number = line.partition(b" ")
            if word == key and number.isdigit():
                return int(number)
        return 0

    def _read(self, name: str) -> bytes:
        try:
            with open(os.path.join(self.path, name), "rb") as stream:
                return stream.read()
        except OSError:
            return b""

    def _write(self, name: str, value: str) -> None:
        _write(os.path.join(self.path, name), value)


def make(name: str, caller: int, *, memory: bool, process: str = "/proc") -> ControlGroup | None:
    """Make a group in the caller's own group or in one above; None if that is impossible.

    With `memory`, make only a group in which the kernel can enforce a cap on memory.
    """
    for folder in _places(caller, process):
        if not (os.access(folder, os.W_OK) and os.access(os.path.join(folder, PROCESSES), os.W_OK)):
            continue
        if memory and not _controls_memory(folder):
            continue
        path = os.path.join(folder, PREFIX + name)
        try:
            os.mkdir(path)
        except OSError:
            continue
        group = ControlGroup(path)
        if not memory or os.path.exists(os.path.join(path, "memory.max")):
            return group
        group.remove()
    return None


def _places(caller: int, process: str) -> Iterator[str]:
    """Yield the caller's own group and the groups above it, as far as they are visible here."""
    mount = _mount(process)
    try:
        with open(f"{process}/{caller}/cgroup", "rb") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return
    own = next((os.fsdecode(line[3:]) for line in lines if line.startswith(b"0::/")), None)
    if mount is None or own is None or "/.." in own:
        return
    point, root = mount
    if root != "/":
        # The mount shows only part of the hierarchy, which may not include the caller's group.
        if own != root and not own.startswith(root + "/"):
            return
        own = own.removeprefix(root) or "/"
    while True:
        yield point if own == "/" else point + own
        if own == "/":
            return
        own = os.path.dirname(own)


def _mount(process: str) -> tuple[str, str] | None:
    """Return the mount point of the group hierarchy, and the part of it that is mounted."""
    try:
        with open(f"{process}/self/mountinfo", "rb") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return None
    for line in lines:
        left, _, right = line.partition(b" - ")
        if right.startswith(b"cgroup2 "):
            fields = left.split()
            return os.fsdecode(fields[4]), os.fsdecode(fields[3])
    return None


def _controls_memory(folder: str) -> bool:
    """Return whether groups in this folder can have a memory cap, after enabling that if permitted."""
    place = os.path.join(folder, "cgroup.subtree_control")
    try:
        with open(place, "rb") as stream:
            if b"memory" in stream.read().split():
                return True
        with open(os.path.join(folder, "cgroup.controllers"), "rb") as stream:
            if b"memory" not in stream.read().split():
                return False
        # The kernel refuses this if the group itself contains processes, unless it is the root.
        _write(place, "+memory")
    except OSError:
        return False
    return True


def enter(entrance: str) -> None:
    """Move this process into a group; ignore a refusal, because the supervisor notices that the group is
    empty.
    """
    try:
        _write(entrance, "0")
    except OSError:
        pass


def _write(place: str, value: str) -> None:
    descriptor = os.open(place, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode("ascii"))
    finally:
        os.close(descriptor)
