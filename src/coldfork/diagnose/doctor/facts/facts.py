"""Everything that a check may examine; tests supply their own."""

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
"""The current limit, and the one to which this user may raise it; None means unlimited."""


@dataclass(frozen=True)
class System:
    """Facts that the operating system reports about itself."""

    platform: str = "linux"
    machine: str = "x86_64"
    release: str = "6.1.0"
    cpus: int = 1
    """The processors that this process may run on."""
    limits: Mapping[str, Limit] = field(default_factory=dict)
    """The limits, under the names that `resource` gives them, without `RLIMIT_`: NOFILE, NPROC, MEMLOCK,
    CORE.
    """

    @property
    def is_linux(self) -> bool:
        """Whether this is Linux, including WSL."""
        return self.platform.startswith("linux")


@dataclass(frozen=True)
class Facts:
    """The facts that the checks examine."""

    python: ExaminedPython
    files: FileTree = field(default_factory=FileTree)
    system: System = field(default_factory=System)
    variables: Mapping[str, str] = field(default_factory=dict)
    ask_driver: Callable[[], Management] = Management
    """Asks NVML and the driver; called at most once."""
    touch: Callable[[], Touched] | None = None
    """Wakes the devices in a separate process; None unless requested."""
    census: Callable[[], Census] | None = None
    """Examines this user's Python processes; None if that is impossible."""
    waking: Callable[[], Waking] | None = None
    """Reads all installed packages; None unless requested."""
    state: Path | None = None
    """The folder that holds recordings and runs."""
    folder: Path = field(default_factory=Path)
    """The current folder."""
    pythons: Callable[[], tuple[ExaminedPython, ...]] = tuple
    """Other interpreters that a program may be started with."""
    now: float = 0.0
    """Other interpreters that may start a program."""

    @cached_property
    def packages(self) -> InstalledPackages:
        """The packages installed for the Python under examination."""
        return InstalledPackages(self.python.folders)

    @cached_property
    def torch(self) -> TorchBuild | None:
        """The installed build of torch; None if there is none."""
        return torch_build(self.packages)

    @cached_property
    def management(self) -> Management:
        """The facts that NVML and the driver report."""
        return self.ask_driver()

    @cached_property
    def has_kernel_module(self) -> bool:
        """Whether the kernel has loaded NVIDIA's driver, or reaches it through Windows."""
        return self.files.exists("/proc/driver/nvidia/version") or self.files.exists("/dev/dxg")

    @property
    def has_nvidia(self) -> bool:
        """Whether any part of an NVIDIA driver is present."""
        asked = self.management
        return self.has_kernel_module or asked.nvml_loaded or asked.libcuda_loaded
