"""Everything that a check may look at; tests make their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from coldfork.diagnose.doctor.facts.files import FileTree
from coldfork.diagnose.doctor.facts.interpreter import ExaminedPython
from coldfork.diagnose.doctor.facts.packages import InstalledPackages, TorchBuild, Waking, torch_build
from coldfork.launch.devices.management import Management, Touched
from coldfork.model.running import Census

Limit = tuple[int | None, int | None]
"""What holds now and what this user may raise it to; None is no limit."""


@dataclass(frozen=True)
class System:
    """What the operating system says of itself."""

    platform: str = "linux"
    machine: str = "x86_64"
    release: str = "6.1.0"
    cpus: int = 1
    """The processors that this process may run on."""
    limits: Mapping[str, Limit] = field(default_factory=dict)
    """By the names of `resource`, without their beginning: NOFILE, NPROC, MEMLOCK, CORE."""

    @property
    def is_linux(self) -> bool:
        """Linux, WSL included."""
        return self.platform.startswith("linux")


@dataclass(frozen=True)
class Facts:
    """What the checks see."""

    python: ExaminedPython
    files: FileTree = field(default_factory=FileTree)
    system: System = field(default_factory=System)
    variables: Mapping[str, str] = field(default_factory=dict)
    ask_driver: Callable[[], Management] = Management
    """Asks NVML and the driver; called once at most."""
    touch: Callable[[], Touched] | None = None
    """Wakes the devices in a process of its own; None unless that was asked for."""
    census: Callable[[], Census] | None = None
    """Looks at this user's Python processes; None where that cannot be done."""
    waking: Callable[[], Waking] | None = None
    """Reads all installed packages; None unless that was asked for."""
    state: Path | None = None
    """The folder that holds recordings and runs."""
    folder: Path = field(default_factory=Path)
    """Where the user stands."""
    pythons: Callable[[], tuple[ExaminedPython, ...]] = tuple
    """Other interpreters that a program may be started with."""
    now: float = 0.0
    """In seconds since 1970."""

    @cached_property
    def packages(self) -> InstalledPackages:
        """What is installed beside the examined Python."""
        return InstalledPackages(self.python.folders)

    @cached_property
    def torch(self) -> TorchBuild | None:
        """The torch among the packages."""
        return torch_build(self.packages)

    @cached_property
    def management(self) -> Management:
        """What NVML and the driver answer."""
        return self.ask_driver()

    @cached_property
    def has_kernel_module(self) -> bool:
        """Whether the kernel has loaded NVIDIA's driver, or reaches it through Windows."""
        return self.files.exists("/proc/driver/nvidia/version") or self.files.exists("/dev/dxg")

    @property
    def has_nvidia(self) -> bool:
        """Whether anything of an NVIDIA driver is here."""
        asked = self.management
        return self.has_kernel_module or asked.nvml_loaded or asked.libcuda_loaded
