"""A virtual NVML, which every program finds by its name, with memory, instances and processes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coldfork.virtual import compiling
from coldfork.virtual.driver import uuid_of
from coldfork.virtual.stubs import CUDA_VERSION, DRIVER_VERSION, MANAGEMENT

GIB = 1 << 30
FILE = "COLDFORK_VIRTUAL_NVML"
"""The variable that tells the library what to show."""


@dataclass(frozen=True, slots=True)
class VirtualInstance:
    """A MIG instance of a device."""

    uuid: str
    memory: int = 10 * GIB
    used: int = 0
    numbers: tuple[int, int] = (1, 0)
    """The numbers of the GPU instance, and of the compute instance in it."""


@dataclass(frozen=True, slots=True)
class VirtualBoard:
    """A device as the management library shows it."""

    uuid: str
    memory: int = 80 * GIB
    used: int = 0
    name: str = "NVIDIA H100 80GB HBM3"
    instances: tuple[VirtualInstance, ...] | None = None
    """None for a device that is not divided."""
    processes: tuple[tuple[int, int], ...] = ()
    """The processes that compute on it, and the bytes that each of them holds."""

    def lines(self) -> list[str]:
        """Return the lines of the data file that the library reads."""
        divided = int(self.instances is not None)
        return [
            f"device {self.uuid} {self.memory} {self.used} {divided} {self.name}",
            *(
                f"instance {one.uuid} {one.memory} {one.used} {one.numbers[0]} {one.numbers[1]}"
                for one in self.instances or ()
            ),
            *(f"process {pid} {held}" for pid, held in self.processes),
        ]


def boards(count: int) -> list[VirtualBoard]:
    """Return this many devices of one model, with the UUIDs that virtual devices have."""
    return [VirtualBoard(f"GPU-{uuid_of(index)}") for index in range(count)]


def write(file: Path, shown: Sequence[VirtualBoard]) -> None:
    """Set the boards that the library shows to processes that initialise it later."""
    lines = [f"library 9.0 {CUDA_VERSION} {DRIVER_VERSION}"]
    for board in shown:
        lines += board.lines()
    beside = file.with_name(f"{file.name}.new")
    beside.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    beside.replace(file)


def variables(file: Path, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables through which a process finds the library, and the library its data file."""
    folder = compiling.library(
        Path(__file__).with_name("native") / "management.c", MANAGEMENT, environment
    ).parent
    path = environment.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": f"{folder}:{path}" if path else str(folder), FILE: str(file)}
