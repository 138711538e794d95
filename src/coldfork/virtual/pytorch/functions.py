"""The initialisation functions that `torch._C` has in a CUDA build but not in a CPU build."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from coldfork.virtual.errors import NotSimulatedError
from coldfork.virtual.machine import Machine
from coldfork.virtual.stubs import CUDA_VERSION

TOOLKIT = "12.8"
ROCM = "6.4.43483-a187df25c"
_ARCHITECTURES = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"
_ROCM_ARCHITECTURES = "gfx90a gfx942 gfx1100 gfx1201"

CUDA = 1
"""torch's number for CUDA as a kind of device."""

_POOLS = ("all", "small_pool", "large_pool")
_AMOUNTS = ("current", "peak", "allocated", "freed")


class CudaDeviceProperties:
    """The result of `torch.cuda.get_device_properties`."""

    def __init__(self, machine: Machine, index: int) -> None:
        profile = machine.setup.profile
        self.name: str = profile.product
        self.major: int = profile.capability[0]
        self.minor: int = profile.capability[1]
        self.total_memory: int = profile.memory
        self.multi_processor_count: int = profile.processors
        self.is_integrated = 0
        self.is_multi_gpu_board = 0
        self.max_threads_per_multi_processor: int = profile.threads_per_processor
        self.max_threads_per_block = 1024
        self.regs_per_multiprocessor = 65536
        self.warp_size: int = profile.warp
        self.gcnArchName: str = profile.architecture or profile.product
        self.uuid: str = machine.uuid(index)
        self.pci_bus_id: int = machine.pci_bus(index)
        self.pci_device_id = 0
        self.pci_domain_id = 0
        self.L2_cache_size: int = profile.l2_cache
        self.clock_rate: int = profile.clock_khz
        self.memory_clock_rate: int = profile.memory_clock_khz
        self.memory_bus_width: int = profile.bus_bits
        self.shared_memory_per_block = 48 * 1024
        self.shared_memory_per_block_optin: int = profile.shared_memory_opt_in
        self.shared_memory_per_multiprocessor: int = profile.shared_memory_per_processor

    def __repr__(self) -> str:
        mebibytes = self.total_memory // 1024**2
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={mebibytes}MB, multi_processor_count={self.multi_processor_count}, "
            f"uuid={self.uuid}, pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, "
            f"pci_domain_id={self.pci_domain_id}, L2_cache_size={self.L2_cache_size // 1024**2}MB)"
        )


class TorchFunctions:
    """Functions named as in `torch._C`, each with the same effect on the driver as torch's own."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._streams = threading.local()

    def named(self) -> dict[str, object]:
        """Return every name to set in `torch._C`."""
        methods = {name: getattr(self, name) for name in dir(type(self)) if name.startswith("_cuda_")}
        constants: tuple[tuple[str, object], ...] = (
            ("_cuda_emptyCache", None),
            ("_cuda_clearCublasWorkspaces", None),
            ("_cuda_ipc_collect", None),
            ("_cuda_getAllocatorBackend", "native"),
            ("_cuda_getCompiledVersion", CUDA_VERSION),
            ("_cuda_getDriverVersion", CUDA_VERSION),
            ("_cuda_isHistoryEnabled", False),
            ("_cuda_cudaCachingAllocator_is_enabled", True),
            ("_cuda_getCurrentRawStream", 0),
            ("_cuda_getMemoryFraction", 1.0),
            ("_cuda_get_sync_debug_mode", 0),
            ("_cuda_hostMemoryStats", {}),
            ("_cuda_isCurrentStreamCapturing", False),
            ("_cuda_resetAccumulatedHostMemoryStats", None),
            ("_cuda_resetAccumulatedMemoryStats", None),
            ("_cuda_resetPeakHostMemoryStats", None),
            ("_cuda_resetPeakMemoryStats", None),
            ("_cuda_setMemoryFraction", None),
            ("_cuda_set_sync_debug_mode", None),
        )
        return {
            **{name: _answering(name, answer) for name, answer in constants},
            **methods,
            "_cuda_getDeviceCount": self._machine.count,
            "_cuda_hasPrimaryContext": self._machine.driver.has_context,
            "_cuda_isInBadFork": self._machine.driver.in_bad_fork,
            "_cudart": Cudart(self),
            "_CudaDeviceProperties": CudaDeviceProperties,
            "_has_cuda": True,
        }

    def _cuda_init(self) -> None:
        count = self._machine.require_devices()
        torch = sys.modules["torch"]
        cuda = sys.modules["torch.cuda"]
        cuda.default_generators = tuple(torch.Generator() for _ in range(count))  # type: ignore[attr-defined]
        cuda._get_device_properties = self.properties  # type: ignore[attr-defined]

    def properties(self, index: int) -> CudaDeviceProperties:
        """Return the properties of a device."""
        return CudaDeviceProperties(self._machine, index)

    def _cuda_getDevice(self) -> int:
        lazy_init()
        return self._machine.chosen

    def _cuda_setDevice(self, index: int) -> None:
        lazy_init()
        self._machine.check(index)
        self._machine.choose(index, with_context=True)

    def _cuda_exchangeDevice(self, index: int) -> int:
        return self._exchange(index, with_context=True)

    def _cuda_maybeExchangeDevice(self, index: int) -> int:
        return self._exchange(index, with_context=False)

    def _exchange(self, index: int, *, with_context: bool) -> int:
        if index < 0:
            return -1
        lazy_init()
        self._machine.check(index)
        before = self._machine.chosen
        self._machine.choose(index, with_context=with_context)
        return before

    def _cuda_synchronize(self) -> None:
        self._machine.driver.retain(self._machine.chosen)

    def _cuda_getArchFlags(self) -> str:
        # Oddly, this is one of the calls after which torch marks later forks as bad.
        self._machine.driver.watch_forks()
        return _ROCM_ARCHITECTURES if self._machine.setup.profile.accelerator == "rocm" else _ARCHITECTURES

    def _cuda_canDeviceAccessPeer(self, index: int, peer: int) -> bool:
        lazy_init()
        return index != peer

    def _cuda_getCurrentStream(self, index: int) -> tuple[int, int, int]:
        streams: dict[str, int] = vars(self._streams)
        return streams.get(str(index), 0), index, CUDA

    def _cuda_getDefaultStream(self, index: int) -> tuple[int, int, int]:
        return 0, index, CUDA

    def _cuda_setStream(self, stream_id: int, device_index: int, device_type: int) -> None:
        lazy_init()
        self._machine.check(device_index)
        self._machine.choose(device_index, with_context=True)
        vars(self._streams)[str(device_index)] = stream_id

    def memory(self, index: int) -> tuple[int, int]:
        """Return the free and the total memory of a device; this creates its context."""
        self._machine.driver.retain(index)
        return self._machine.setup.profile.memory, self._machine.setup.profile.memory

    def _cuda_memoryStats(self, index: int) -> dict[str, Any]:
        self._machine.check(index)
        names = (
            "allocation",
            "segment",
            "active",
            "inactive_split",
            "allocated_bytes",
            "reserved_bytes",
            "active_bytes",
            "inactive_split_bytes",
            "requested_bytes",
        )
        oversize = ("oversize_allocations", "oversize_segments")
        stats: dict[str, Any] = {
            **{name: {pool: dict.fromkeys(_AMOUNTS, 0) for pool in _POOLS} for name in names},
            **{name: dict.fromkeys(_AMOUNTS, 0) for name in oversize},
        }
        counters = (
            "num_alloc_retries",
            "num_ooms",
            "num_sync_all_streams",
            "num_device_alloc",
            "num_device_free",
        )
        return stats | dict.fromkeys(counters, 0) | {"max_split_size": -1}

    def accelerator_named(self) -> dict[str, object]:
        """Return the functions of `torch.accelerator` by name, most of which are CUDA's under other names."""
        cuda = self.named()
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
            if name.startswith(("_accelerator_", "_get_accelerator"))
        }
        return own | {name: cuda[other] for name, other in same.items() if other in cuda}

    def _accelerator_getAccelerator(self) -> object:
        # The result is fixed when torch is built, so this call does not touch the device.
        return sys.modules["torch"].device("cuda")

    def _get_accelerator(self, check: bool | None = None) -> object:
        # This function asks the driver from C++, and then torch does not mark forks (pytorch 190708).
        self._machine.wake_unnoticed()
        return sys.modules["torch"].device("cuda")

    def _accelerator_setDeviceIndex(self, index: int) -> None:
        if index >= 0:
            self._cuda_setDevice(index)

    def _accelerator_synchronizeDevice(self, index: int) -> None:
        if self._accelerator_isAllocatorInitialized():
            lazy_init()
            self._machine.check(index)
            self._machine.driver.retain(index)

    def _accelerator_getStream(self, index: int) -> object:
        lazy_init()
        self._machine.check(index)
        number, device, kind = self._cuda_getCurrentStream(index)
        return sys.modules["torch"].Stream(stream_id=number, device_index=device, device_type=kind)

    def _accelerator_isAllocatorInitialized(self) -> bool:
        cuda: Any = sys.modules["torch.cuda"]
        return bool(cuda.is_initialized())

    def _accelerator_getMemoryInfo(self, index: int) -> tuple[int, int]:
        lazy_init()
        self._machine.check(index)
        return self.memory(index)


class Cudart(ModuleType):
    """A substitute for `torch._C._cudart`, which is CUDA's runtime library as torch shows it."""

    class cudaError(int):  # noqa: N801 (the name is CUDA's)
        """An error code of CUDA's runtime library."""

        success = 0

    def __init__(self, functions: TorchFunctions) -> None:
        super().__init__("torch._C._cudart")
        self.cudaMemGetInfo = functions.memory

    def cudaGetErrorString(self, code: int) -> str:
        """Return the meaning of a code."""
        return "no error" if code == 0 else "unknown error"

    def __getattr__(self, name: str) -> object:
        if name.startswith("cuda"):
            return refusal(f"torch.cuda.cudart().{name}")
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def refusal(name: str) -> Callable[..., object]:
    """Return a function that raises an error, because it is not simulated."""

    def not_simulated(*_: object, **__: object) -> object:
        raise NotSimulatedError(name, INSTEAD)

    not_simulated.__name__ = not_simulated.__qualname__ = name.rpartition(".")[2]
    return not_simulated


INSTEAD = (
    "work on CPU tensors, run this part on a real device, or let coldfork.virtual.device(..., "
    "redirect=True) do the work on the CPU: the virtual device can only be initialised"
)


def _answering(name: str, answer: object) -> Callable[..., object]:
    def answer_always(*_: object, **__: object) -> object:
        return answer

    answer_always.__name__ = answer_always.__qualname__ = name
    return answer_always


def lazy_init() -> None:
    """Have torch initialise CUDA, or raise its error in a child forked too late."""
    vars(sys.modules["torch.cuda"])["_lazy_init"]()
