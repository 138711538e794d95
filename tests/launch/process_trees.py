"""Copies of the kernel's files about processes: planted for a test, or recorded from processes that run.

    python -m tests.launch.process_trees PID > tests/launch/recorded_processes/NAME.json

records a process and all that it started, as this user sees them.
"""

from __future__ import annotations

import errno
import json
import os
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from coldfork.launch.outside.census import census
from coldfork.launch.outside.kernel import Kernel
from coldfork.launch.outside.process import Relatives
from coldfork.model.running import Census, RunningPython
from coldfork.model.states import State
from coldfork.observe.probes.maps import Maps
from coldfork.observe.probes.threads import NativeThread

RECORDED = Path(__file__).parent / "recorded_processes"
FORKED = 0x400040
EXECUTED = 0x400000
BEGAN = 1_700_000_000
USER = 1000
PYTHON = "/usr/bin/python3.12"
LIBC = "/usr/lib/libc.so.6"
CUDA = "/usr/lib/libcuda.so.570.86.15"


@dataclass
class File:
    """The target of one descriptor; descriptors with the same `opened` are one open file."""

    path: str
    opened: str
    cloexec: bool = True


@dataclass
class Thread:
    """A thread that some library started."""

    start: int
    library: str | None
    name: str = "python"


@dataclass
class Planted:
    """One process of a tree."""

    pid: int
    parent: int = 1
    flags: int = EXECUTED
    start: int = 1000
    layout: int = 0
    """The same for processes that are copies of each other; without, a number of its own."""
    program: str | None = PYTHON
    words: list[str] = field(default_factory=lambda: ["python", "serve.py"])
    libraries: list[str] | None = field(default_factory=list)
    """None where the user may not see the memory map."""
    files: dict[int, File] | None = field(default_factory=dict)
    """None where the user may not see the open files."""
    threads: dict[int, Thread] | None = field(default_factory=dict)
    """None where the user may not read the process's memory."""
    python_threads: int = 1
    environment: dict[str, str] = field(default_factory=dict)
    state: str = "S"
    user: int = USER
    first: bool = False
    """Whether it is the first process of a container."""


def forked(pid: int, origin: Planted, start: int, **changes: Any) -> Planted:
    """A child as a fork leaves it: with its parent's program, memory and open files, and one thread."""
    return Planted(
        **{
            "pid": pid,
            "parent": origin.pid,
            "flags": FORKED,
            "start": start,
            "layout": origin.layout or origin.pid,
            "program": origin.program,
            "words": origin.words,
            "libraries": origin.libraries,
            "files": dict(origin.files or {}),
            "environment": origin.environment,
            **changes,
        }
    )


class PlantedKernel(Kernel):
    """A tree in a folder, where even the superuser is refused what a user would be."""

    def __init__(self, root: Path, tree: list[Planted], refuses: int | None = None) -> None:
        super().__init__(str(root))
        self.by_pid = {one.pid: one for one in tree}
        self.refuses = refuses
        """The number of the error with which comparing descriptors is refused."""

    def program(self, pid: int) -> str:
        self._allow(self.by_pid[pid].program is not None)
        return super().program(pid)

    def memory_map(self, pid: int) -> bytes:
        self._allow(self.by_pid[pid].libraries is not None)
        return super().memory_map(pid)

    def open_files(self, pid: int) -> dict[int, str]:
        self._allow(self.by_pid[pid].files is not None)
        return super().open_files(pid)

    @staticmethod
    def _allow(allowed: bool) -> None:
        if not allowed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    def is_same_file(self, pid: int, descriptor: int, other: int, theirs: int) -> bool:
        if self.refuses is not None:
            raise OSError(self.refuses, os.strerror(self.refuses))
        one, two = self.by_pid[pid].files, self.by_pid[other].files
        return one is not None and two is not None and one[descriptor].opened == two[theirs].opened

    def native_threads(self, pid: int, maps: Maps) -> tuple[NativeThread, ...]:
        threads = self.by_pid[pid].threads
        if threads is None:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return tuple(NativeThread(tid, one.name, one.library) for tid, one in threads.items())


def plant(root: Path, tree: list[Planted], refuses: int | None = None) -> PlantedKernel:
    """Write the tree as the kernel would show it."""
    _write(root / "stat", f"cpu  1 2 3\nbtime {BEGAN}\n")
    for one in tree:
        _plant(root / str(one.pid), one)
    return PlantedKernel(root, tree, refuses)


def looked_at(
    root: Path,
    *tree: Planted,
    asked: tuple[int, ...] = (),
    refuses: int | None = None,
    largest: int | None = None,
) -> Census:
    """Return the view that `ps` has of a tree."""
    return census(plant(root, list(tree), refuses), asked, user=USER, largest_recording=largest)


def process_of(found: Census, pid: int) -> RunningPython:
    """One process of a census."""
    return next(process for process in found.processes if process.pid == pid)


def state_of(found: Census, pid: int, accelerator: str = "cuda") -> State:
    """One state of one process."""
    return next(state for state in process_of(found, pid).states if state.accelerator == accelerator)


def _plant(folder: Path, one: Planted) -> None:
    threads = one.threads or {}
    _write(folder / "stat", _stat(one, one.pid, one.start, len(threads) + one.python_threads))
    inner = "\t1" if one.first else ""
    _write(folder / "status", f"Name:\tpython\nUid:\t{one.user}\t0\t0\t0\nNSpid:\t{one.pid}{inner}\n")
    _write(folder / "cmdline", "".join(f"{word}\0" for word in one.words))
    _write(folder / "environ", "".join(f"{name}={value}\0" for name, value in one.environment.items()))
    mapped = [one.program or "", LIBC, *(one.libraries or ())]
    _write(
        folder / "maps",
        "".join(
            f"{0x10000 * place:012x}-{0x10000 * place + 0x1000:012x} r-xp 00000000 08:01 {place} {path}\n"
            for place, path in enumerate(mapped, 1)
        ),
    )
    if one.program is not None:
        (folder / "exe").symlink_to(one.program)
    (folder / "fd").mkdir()
    for number, file in (one.files or {}).items():
        (folder / "fd" / str(number)).symlink_to(file.path)
        flags = 0o2 | (0o2000000 if file.cloexec else 0)
        _write(folder / "fdinfo" / str(number), f"pos:\t0\nflags:\t0{flags:o}\nmnt_id:\t1\n")
    for tid, thread in {one.pid: Thread(one.start, None), **threads}.items():
        _write(folder / "task" / str(tid) / "stat", _stat(one, tid, thread.start, 1))


def _stat(one: Planted, number: int, start: int, threads: int) -> str:
    fields = ["0"] * 50
    fields[0], fields[1], fields[6], fields[17], fields[19] = (
        one.state,
        str(one.parent),
        str(one.flags),
        str(threads),
        str(start),
    )
    for place in (23, 24, 25, 45, 46):
        fields[place] = str((one.layout or one.pid) * 4096 + place)
    # A name may hold anything, and has been used to mislead readers of this file.
    return f"{number} (py) S 1 (thon) {' '.join(fields)}\n"


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def recorded(name: str) -> list[Planted]:
    """A tree that was recorded."""
    content = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    return [
        Planted(
            **{
                **one,
                "files": {int(number): File(**file) for number, file in one["files"].items()},
                "threads": {int(tid): Thread(**thread) for tid, thread in one["threads"].items()},
            }
        )
        for one in content
    ]


def record(pid: int) -> list[Planted]:
    """A process that runs, with all that it started."""
    kernel = Kernel()
    relatives = Relatives(kernel)
    tree: list[Planted] = []
    for number in relatives.pids():
        process = relatives.process(number)
        if process is None or not (
            number == pid or any(one.pid == pid for one in relatives.ancestors(process.standing))
        ):
            continue
        standing = process.standing
        copy = next((one for one in tree if kernel.standing(one.pid).is_copy_of(standing)), None)
        files = {
            descriptor: File(path, f"{number}:{descriptor}", kernel.closes_on_exec(number, descriptor))
            for descriptor, path in process.open_files.items()
        }
        for descriptor, file in files.items():
            for other in tree:
                for theirs, its in (other.files or {}).items():
                    if its.path == file.path and kernel.is_same_file(number, descriptor, other.pid, theirs):
                        file.opened = its.opened
        starts = kernel.thread_starts(number)
        threads = {one.tid: Thread(starts[one.tid], one.library, one.name) for one in process.threads or ()}
        tree.append(
            Planted(
                number,
                standing.parent if number != pid else 1,
                standing.flags,
                standing.start,
                copy.layout if copy is not None else number,
                process.program,
                list(process.words),
                [path for path in process.maps.files if path != process.program],
                files,
                threads,
                standing.threads - len(threads),
            )
        )
    return tree


if __name__ == "__main__":
    lines = (json.dumps(asdict(one)) for one in record(int(sys.argv[1])))
    print("[\n" + ",\n".join(lines) + "\n]")
