"""A machine that a test makes up, and what a check says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coldfork.diagnose.doctor.facts.facts import Facts, System
from coldfork.diagnose.doctor.facts.files import FileTree, Space
from coldfork.diagnose.doctor.facts.interpreter import ExaminedPython
from coldfork.launch.devices.management import Device, Management
from coldfork.model.diagnosis import Health
from coldfork.model.observations import Origin

H100 = Device(0, "NVIDIA H100", "GPU-1b2c3d4e-0000-4000-8000-000000000001", 0, True, False, False)
WORKING = Management(
    nvml_loaded=True,
    nvml_code=0,
    driver="570.86.15",
    cuda=12080,
    libcuda_loaded=True,
    devices=(H100,),
)


class Tree(FileTree):
    """Real files below a folder, some of which are closed to the user, and disks of any size."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.closed: set[str] = set()
        self.spaces: dict[str, Space] = {}

    def may_use(self, name: str) -> bool:
        return name not in self.closed and super().may_use(name)

    def space(self, name: str) -> Space | None:
        return self.spaces.get(name)


class Machine:
    """Made up step by step; every method returns it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.site = folder / "env" / "lib" / "python3.11" / "site-packages"
        self.site.mkdir(parents=True)
        self.tree = Tree(folder / "root")
        python = ExaminedPython(
            (self.site,), Origin.NAMED, str(folder / "env/bin/python"), (3, 11, 7), folder / "env"
        )
        self.facts = Facts(python, self.tree, System(cpus=8), folder=folder, now=1_000_000.0)

    def file(self, name: str, text: str = "") -> Machine:
        place = self.tree.place(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        return self

    def closed(self, *names: str) -> Machine:
        self.tree.closed |= set(names)
        return self

    def disk(self, name: str, total: int, free: int) -> Machine:
        self.tree.spaces[name] = Space(total, free)
        return self

    def variables(self, **given: str) -> Machine:
        return self.having(variables={**self.facts.variables, **given})

    def system(self, **changes: Any) -> Machine:
        return self.having(system=replace(self.facts.system, **changes))

    def limit(self, name: str, soft: int | None, hard: int | None = None) -> Machine:
        return self.system(limits={name: (soft, hard)})

    def python(self, **changes: Any) -> Machine:
        return self.having(python=replace(self.facts.python, **changes))

    def answers(self, management: Management = WORKING, **changes: Any) -> Machine:
        answer = replace(management, **changes)
        return self.having(ask_driver=lambda: answer)

    def devices(self, *changes: dict[str, Any]) -> Machine:
        return self.answers(
            devices=tuple(replace(H100, **{"index": at, **one}) for at, one in enumerate(changes))
        )

    def package(
        self, name: str, version: str, *requires: str, entry_points: str = "", files: tuple[str, ...] = ()
    ) -> Machine:
        place = self.site / f"{name.replace('-', '_')}-{version}.dist-info"
        place.mkdir()
        lines = [f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {one}" for one in requires)]
        (place / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (place / "entry_points.txt").write_text(entry_points, encoding="utf-8")
        record = "".join(f"{file},sha256=abc,12\n" for file in files)
        (place / "RECORD").write_text(record, encoding="utf-8")
        return self

    def installed(self, name: str, text: str | bytes = "") -> Machine:
        """A file beside the packages."""
        place = self.site / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        return self

    def torch(self, version: str = "2.9.0+cu128", cuda: str | None = "12.8", **others: str) -> Machine:
        lines = [f"__version__ = {version!r}", f"cuda: Optional[str] = {cuda!r}"]
        lines += [f"{name}: Optional[str] = {value!r}" for name, value in others.items()]
        return self.package("torch", version).installed("torch/version.py", "\n".join(lines) + "\n")

    def driver(self, version: str = "570.86.15") -> Machine:
        """A kernel with NVIDIA's driver, and its device files."""
        line = f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Thu Jan 23 2026\n"
        self.file("/proc/driver/nvidia/version", line)
        for name in ("nvidiactl", "nvidia-uvm", "nvidia0"):
            self.file(f"/dev/{name}")
        return self

    def having(self, **changes: Any) -> Machine:
        self.facts = replace(self.facts, **changes)
        return self


@dataclass(frozen=True)
class Case:
    """A check's answer about a machine; in the message `ENV` and `SITE` stand for the machine's folders."""

    check: str
    health: Health
    message: str
    make: Callable[[Machine], object]


def ok(check: str, message: str, make: Callable[[Machine], object]) -> Case:
    return Case(check, Health.OK, message, make)


def warn(check: str, message: str, make: Callable[[Machine], object]) -> Case:
    return Case(check, Health.WARN, message, make)


def fail(check: str, message: str, make: Callable[[Machine], object]) -> Case:
    return Case(check, Health.FAIL, message, make)


def skipped(check: str, message: str, make: Callable[[Machine], object]) -> Case:
    return Case(check, Health.SKIPPED, message, make)


def as_it_is(machine: Machine) -> Machine:
    return machine
