"""The one virtual device of this process: install it, offer it, and ask for its state."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from coldfork.virtual import stubs
from coldfork.virtual.compiling import CannotCompileError
from coldfork.virtual.driver import Driver, PythonDriver
from coldfork.virtual.errors import VirtualDeviceError
from coldfork.virtual.imports import AfterImport
from coldfork.virtual.machine import Machine
from coldfork.virtual.profiles import Setup, setup
from coldfork.virtual.pytorch.fill import TorchFill

_FOREIGN = ("libcuda.so.1", "libcuda.so", "libamdhip64.so")


class VirtualDevice:
    """A virtual device, for the program that installed it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    @property
    def name(self) -> str:
        """The name of the device's profile, such as `h100`."""
        return self._machine.setup.profile.name

    @property
    def count(self) -> int:
        """The number of devices in the machine, regardless of CUDA_VISIBLE_DEVICES."""
        return self._machine.setup.count

    @property
    def accelerator(self) -> str:
        """The name of the accelerator: `cuda` or `rocm`."""
        return self._machine.setup.profile.accelerator

    @property
    def library(self) -> str | None:
        """The loaded driver library; None if only torch sees the device, for the `reason` below."""
        return self._machine.driver.library

    @property
    def reason(self) -> str | None:
        """Why there is no driver library; None if there is one."""
        return self._machine.reason

    @property
    def state(self) -> str:
        """The state: `cold`, `awake`, or `poisoned` in a child forked from an awake process."""
        return self._machine.driver.state()

    @property
    def level(self) -> str | None:
        """How far the device was woken: `driver` or `context`; None while it is not awake."""
        if self.state != "awake":
            return None
        seen = range(len(self._machine.driver.visible()))
        return "context" if any(map(self._machine.driver.has_context, seen)) else "driver"

    def __repr__(self) -> str:
        return f"<{self._machine.setup}, {self.state}>"


class _Process:
    """The virtual device of this process; there is at most one, because a process has only one driver."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.machine: Machine | None = None
        self.users = 0

    def enter(self, wanted: Setup) -> VirtualDevice:
        with self.lock:
            if self.machine is None:
                self.machine = _install(wanted)
            elif self.machine.setup != wanted:
                raise VirtualDeviceError(
                    f"use {wanted} in a process of its own: {self.machine.setup} is installed in this "
                    "process and stays until it ends"
                )
            self.users += 1
            self.machine.offer(True)
            return VirtualDevice(self.machine)

    def leave(self) -> None:
        with self.lock:
            self.users -= 1
            if self.machine is not None and not self.users:
                self.machine.offer(False)


_PROCESS = _Process()


def install(
    name: str = "h100", count: int = 1, *, nvml: bool = True, redirect: bool = False
) -> VirtualDevice:
    """Give this process a virtual device until it ends."""
    return _PROCESS.enter(setup(name, count, nvml=nvml, redirect=redirect))


@contextmanager
def device(
    name: str = "h100", count: int = 1, *, nvml: bool = True, redirect: bool = False
) -> Iterator[VirtualDevice]:
    """Give this process a virtual device, which nothing can wake after the block.

    Devices that were woken in the block stay awake until the process ends, as with a real driver.
    """
    virtual = _PROCESS.enter(setup(name, count, nvml=nvml, redirect=redirect))
    try:
        yield virtual
    finally:
        _PROCESS.leave()


def installed() -> VirtualDevice | None:
    """Return the virtual device of this process, or None; asking changes nothing."""
    machine = _PROCESS.machine
    return VirtualDevice(machine) if machine is not None else None


def _install(wanted: Setup) -> Machine:
    for name in _FOREIGN:
        if stubs.foreign_library(name):
            raise VirtualDeviceError(
                f"restart the process and install the virtual device first: the {name} of a real driver "
                "is loaded here, and a virtual device beside it would give wrong answers"
            )
    driver, reason = _driver(wanted)
    machine = Machine(wanted, driver, reason)
    AfterImport(TorchFill(machine).steps()).install()
    return machine


def _driver(wanted: Setup) -> tuple[Driver, str | None]:
    if wanted.profile.accelerator != "cuda":
        return PythonDriver(wanted), f"there is no driver library for {wanted.profile.accelerator}"
    try:
        native = stubs.NativeDriver(wanted)
        stubs.load_management(wanted)
    except CannotCompileError as error:
        return PythonDriver(wanted), str(error)
    return native, None
