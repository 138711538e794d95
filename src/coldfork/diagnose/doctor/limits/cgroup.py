"""The limits of this process's control group: memory, processors and processes, of cgroup v1 and v2.

A container's limits are those of its group. Python and OpenMP count the machine's processors instead, and
start a thread for each of them.

- **ok**: no limit that matters.
- **warn**: fewer processors than programs count, and no variable that tells OpenMP so; less memory than
  4 GiB; fewer than 1024 processes and threads.
- **fail**: nine tenths of the processes and threads that it allows exist already.
- **skipped**: this is not Linux, or no group is visible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar

from coldfork.diagnose.doctor.facts.facts import Facts
from coldfork.diagnose.doctor.limits.dev_shm import size
from coldfork.model.diagnosis import Answer, fail, ok, skipped, together, warn

_Number = TypeVar("_Number", int, float)
_ROOT = "/sys/fs/cgroup"
_LEAST_MEMORY = 4 << 30
_LEAST_PROCESSES = 1024
_FULL = 0.9
_UNLIMITED = 1 << 60
"""cgroup v1 states a number of at least this size if there is no limit."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The limits that a process's control groups set; None means no limit."""

    version: int
    memory: int | None = None
    processors: float | None = None
    processes: int | None = None
    running: int = 0
    """The number of processes and threads in the group that limits them."""


def examine(facts: Facts) -> Answer:
    """Judge the tightest limit on memory, on processors and on processes."""
    if not facts.system.is_linux:
        return skipped(f"control groups exist only on Linux, and this is {facts.system.platform}")
    found = allowance(facts)
    if found is None:
        return skipped("no control group is visible")
    parts = [f"memory {size(found.memory)}"] if found.memory is not None else []
    parts += [f"{found.processors:g} processors"] if found.processors is not None else []
    parts += [f"{found.processes} processes and threads"] if found.processes is not None else []
    return together(
        _troubles(found, facts), ok(f"cgroup v{found.version}: {', '.join(parts) or 'no limits'}")
    )


def _troubles(found: Allowance, facts: Facts) -> Iterator[Answer]:
    if found.processes is not None and found.running >= _FULL * found.processes:
        yield fail(
            f"{found.running} of the {found.processes} processes and threads that the group allows "
            "are in use",
            "end some, or raise the limit: docker run --pids-limit, TasksMax of systemd",
        )
    elif found.processes is not None and found.processes < _LEAST_PROCESSES:
        yield warn(
            f"the group allows {found.processes} processes and threads",
            "raise the limit: docker run --pids-limit, TasksMax of systemd",
        )
    if found.memory is not None and found.memory < _LEAST_MEMORY:
        yield warn(
            f"the group allows {size(found.memory)} of memory", "docker run --memory, MemoryMax of systemd"
        )
    cpus = facts.system.cpus
    if (
        found.processors is not None
        and found.processors <= cpus / 2
        and "OMP_NUM_THREADS" not in facts.variables
    ):
        yield warn(
            f"the group allows {found.processors:g} processors, but programs see {cpus}",
            f"set OMP_NUM_THREADS to {max(1, int(found.processors))} divided by the number of processes",
        )


def allowance(facts: Facts) -> Allowance | None:
    """Return the limits on this process: the tightest of its control group and the groups above it."""
    groups: dict[str, str] = {}
    for line in facts.files.lines("/proc/self/cgroup"):
        _, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        groups |= dict.fromkeys(names.split(","), path)
    if "memory" in groups or "pids" in groups or "cpu" in groups:
        return _of_version_1(facts, groups)
    return _of_version_2(facts, groups[""]) if "" in groups else None


def _of_version_2(facts: Facts, path: str) -> Allowance:
    memory: list[int] = []
    processors: list[float] = []
    processes: list[tuple[int, int]] = []
    for folder in _upwards(_ROOT, path):
        memory += _number(facts, f"{folder}/memory.max")
        quota = (facts.files.text(f"{folder}/cpu.max") or "").split()
        if len(quota) == 2 and quota[0].isdecimal() and quota[1].isdecimal():
            processors.append(int(quota[0]) / int(quota[1]))
        processes += _processes(facts, folder)
    return Allowance(2, _least(memory), _least(processors), *_tightest(processes))


def _of_version_1(facts: Facts, groups: dict[str, str]) -> Allowance:
    memory: list[int] = []
    processors: list[float] = []
    processes: list[tuple[int, int]] = []
    for folder in _upwards(f"{_ROOT}/memory", groups.get("memory", "/")):
        memory += [one for one in _number(facts, f"{folder}/memory.limit_in_bytes") if one < _UNLIMITED]
    for folder in _upwards(f"{_ROOT}/cpu", groups.get("cpu", "/")):
        quota, period = (_number(facts, f"{folder}/cpu.cfs_{name}_us") for name in ("quota", "period"))
        if quota and period:
            processors.append(quota[0] / period[0])
    for folder in _upwards(f"{_ROOT}/pids", groups.get("pids", "/")):
        processes += _processes(facts, folder)
    return Allowance(1, _least(memory), _least(processors), *_tightest(processes))


def _upwards(root: str, path: str) -> Iterator[str]:
    """Yield the folders of a control group and those above it; a container may hide the group's own path."""
    group = PurePosixPath("/", path.lstrip("/"))
    for place in (group, *group.parents):
        yield f"{root}{place}".rstrip("/")


def _processes(facts: Facts, folder: str) -> Iterator[tuple[int, int]]:
    """Yield the limit on a control group's processes, and their number."""
    for most in _number(facts, f"{folder}/pids.max"):
        yield most, next(iter(_number(facts, f"{folder}/pids.current")), 0)


def _tightest(limits: list[tuple[int, int]]) -> tuple[int | None, int]:
    """Return the limit that leaves the least room, with its number of processes."""
    return min(limits, key=lambda pair: pair[0] - pair[1], default=(None, 0))


def _number(facts: Facts, file: str) -> list[int]:
    text = (facts.files.text(file) or "").strip()
    return [int(text)] if text.isdecimal() and int(text) > 0 else []


def _least(values: list[_Number]) -> _Number | None:
    return min(values, default=None)
