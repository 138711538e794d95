"""The virtual machine as CUDA's runtime library and torch's C++ part see it."""

from __future__ import annotations

import sys
import threading
import warnings

from coldfork.virtual import driver as driver_codes
from coldfork.virtual.driver import Driver, uuid_of
from coldfork.virtual.profiles import Setup

_NO_START = "CUDA driver initialization failed, you might not have a CUDA gpu."


class Machine:
    """The devices of the machine, those that this process sees, and the one that each thread uses."""

    def __init__(self, setup: Setup, driver: Driver, reason: str | None = None) -> None:
        self.setup = setup
        self.driver = driver
        self.reason = reason
        """Why the driver has no C library, if it has none."""
        self.offered: bool = True
        self._count: int | None = None
        self._runtime_started = False
        self._chosen = threading.local()

    def offer(self, offered: bool) -> None:
        """Offer the devices, or stop offering them."""
        self.offered = offered
        self.driver.offer(offered)

    def count(self) -> int:
        """Return how many devices there are; as in torch, a process and its forked children count
        only once.
        """
        self.driver.watch_forks()
        if not self.offered:
            return 0
        if self._count is None:
            self._count = self._count_once()
        return self._count

    def _count_once(self) -> int:
        code = self._initialise()
        if code == driver_codes.NOT_INITIALISED:
            warnings.warn(f"CUDA initialization: {_NO_START}", stacklevel=4)
            return 0
        return len(self.driver.visible()) if code == driver_codes.SUCCESS else 0

    def wake_unnoticed(self) -> None:
        """Initialise the driver as torch's C++ part does, which does not make torch mark later forks."""
        if self.offered:
            self._initialise()

    def require_devices(self) -> int:
        """Initialise the driver and return how many devices there are, or raise torch's error."""
        self.driver.watch_forks()
        started = self._runtime_started
        code = self._initialise() if self.offered else driver_codes.NO_DEVICE
        if code == driver_codes.NOT_INITIALISED:
            # The runtime library keeps its results from before the fork, and fails at the next step.
            raise cuda_error("initialization error") if started else RuntimeError(_NO_START)
        if code != driver_codes.SUCCESS:
            raise RuntimeError("No CUDA GPUs are available")
        return len(self.driver.visible())

    def _initialise(self) -> int:
        code = self.driver.initialise()
        self._runtime_started = self._runtime_started or code == driver_codes.SUCCESS
        return code

    @property
    def chosen(self) -> int:
        """Return the device that this thread uses."""
        return getattr(self._chosen, "index", 0)

    def choose(self, index: int, *, with_context: bool) -> None:
        """Make this thread use another device; since CUDA 12 this also creates the device's context."""
        if index == self.chosen:
            return
        self._chosen.index = index
        if with_context:
            self.driver.retain(index)

    def check(self, index: int) -> None:
        """Raise torch's error if this process sees no device with this number."""
        if not 0 <= index < len(self.driver.visible()):
            raise cuda_error("invalid device ordinal")

    def uuid(self, index: int) -> str:
        """Return the UUID of a device that this process sees."""
        return uuid_of(self.driver.visible()[index])

    def pci_bus(self, index: int) -> int:
        """Return the PCI bus of a device of this process."""
        return 0x10 + self.driver.visible()[index]


def cuda_error(text: str) -> RuntimeError:
    """Return the error that torch raises for an error of CUDA's runtime library."""
    kind: type[RuntimeError] = getattr(sys.modules.get("torch"), "AcceleratorError", RuntimeError)
    return kind(f"CUDA error: {text}")
