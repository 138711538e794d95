"""What `torch.accelerator` asks of `torch._C`, answered for the virtual device."""

from __future__ import annotations

import sys
from typing import Any

from coldfork.virtual.machine import Machine
from coldfork.virtual.pytorch.functions import TorchFunctions, lazy_init


class AcceleratorFunctions:
    """The functions by their names in `torch._C`; most are those of CUDA under a second name."""

    def __init__(self, machine: Machine, functions: TorchFunctions) -> None:
        self._machine = machine
        self._functions = functions

    def named(self) -> dict[str, object]:
        """Every name to set in `torch._C` where it is there already."""
        cuda = self._functions.named()
        same = {
            "_accelerator_emptyCache": "_cuda_emptyCache",
            "_accelerator_exchangeDevice": "_cuda_exchangeDevice",
            "_accelerator_getDeviceIndex": "_cuda_getDevice",
            "_accelerator_getDeviceStats": "_cuda_memoryStats",
            "_accelerator_maybeExchangeDevice": "_cuda_maybeExchangeDevice",
            "_accelerator_resetAccumulatedStats": "_cuda_resetAccumulatedMemoryStats",
            "_accelerator_resetPeakStats": "_cuda_resetPeakMemoryStats",
        }
        own = {
            name: getattr(self, name)
            for name in dir(type(self))
            if "ccelerator_" in name or "_get_acc" in name
        }
        return own | {name: cuda[other] for name, other in same.items() if other in cuda}

    def _accelerator_getAccelerator(self) -> object:
        # This one is decided when torch is built, and asking does not touch the device.
        return sys.modules["torch"].device("cuda")

    def _get_accelerator(self, check: bool | None = None) -> object:
        # This one asks the driver from C++, where nothing marks the forks that come later (pytorch 190708).
        self._machine.wake_unnoticed()
        return sys.modules["torch"].device("cuda")

    def _accelerator_setDeviceIndex(self, index: int) -> None:
        if index >= 0:
            self._functions._cuda_setDevice(index)

    def _accelerator_synchronizeDevice(self, index: int) -> None:
        if self._accelerator_isAllocatorInitialized():
            lazy_init()
            self._machine.check(index)
            self._machine.driver.retain(index)

    def _accelerator_getStream(self, index: int) -> object:
        lazy_init()
        self._machine.check(index)
        number, device, kind = self._functions._cuda_getCurrentStream(index)
        return sys.modules["torch"].Stream(stream_id=number, device_index=device, device_type=kind)

    def _accelerator_isAllocatorInitialized(self) -> bool:
        cuda: Any = sys.modules["torch.cuda"]
        return bool(cuda.is_initialized())

    def _accelerator_getMemoryInfo(self, index: int) -> tuple[int, int]:
        lazy_init()
        self._machine.check(index)
        return self._functions.memory(index)
