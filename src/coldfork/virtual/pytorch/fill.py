"""Add the functions that a CPU build of torch lacks, and replace those of a build for real devices."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from types import ModuleType

from coldfork.virtual.driver import uuid_of
from coldfork.virtual.errors import VirtualDeviceError
from coldfork.virtual.imports import After
from coldfork.virtual.machine import Machine
from coldfork.virtual.pytorch.functions import ROCM, TOOLKIT, TorchFunctions, refusal
from coldfork.virtual.pytorch.redirect import Redirection
from coldfork.virtual.pytorch.refusals import (
    refuse_classes,
    refuse_tensors,
    spare_fake_tensors,
    stand_in_streams,
)

_BOUND_AT_IMPORT = (
    ("_is_in_bad_fork", "_cuda_isInBadFork"),
    ("_cudart", "_cudart"),
    ("_exchange_device", "_cuda_exchangeDevice"),
    ("_maybe_exchange_device", "_cuda_maybeExchangeDevice"),
    ("_CudaDeviceProperties", "_CudaDeviceProperties"),
)
"""Names of torch.cuda that it copied from torch._C when it was imported."""
_CLASSES = (
    "_CudaStreamBase",
    "_CudaEventBase",
    "_CUDAGraph",
    "_MemPool",
    "_graph_pool_handle",
    "_CudaDeviceProperties",
    "_cudart",
)
"""Names of torch._C that exist only in a CUDA build, besides its functions that begin with `_cuda_`."""


class TorchFill:
    """The steps to run after the import of each of torch's modules."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._functions = TorchFunctions(machine)
        self._redirection = Redirection(machine)

    def steps(self) -> dict[str, After]:
        """Return the steps by module, in the order in which they must run if torch is already imported."""
        steps: dict[str, After] = {
            "torch.version": self.version,
            "torch._C": self.compiled,
            "torch.cuda": self.cuda,
            "torch._subclasses.fake_tensor": lambda module: spare_fake_tensors(module, self._machine),
        }
        if self._machine.setup.redirect:
            steps["torch"] = self._redirection.torch
        return steps

    def version(self, version: ModuleType) -> None:
        """Make torch say that it was built for this kind of device."""
        built_for = getattr(version, "cuda", None) or getattr(version, "hip", None)
        if built_for and hasattr(sys.modules.get("torch"), "cuda"):
            raise VirtualDeviceError(
                "install the virtual device before importing torch, or use the CPU build of torch: this "
                "one is built for real devices and is already imported"
            )
        rocm = self._machine.setup.profile.accelerator == "rocm"
        version.cuda = None if rocm else TOOLKIT  # type: ignore[attr-defined]
        version.hip = version.rocm = ROCM if rocm else None  # type: ignore[attr-defined]

    def compiled(self, compiled: ModuleType) -> None:
        """Add the functions of a CUDA build; those that are not simulated raise an error."""
        if hasattr(compiled, "_cuda_getDeviceCount"):
            _take_out(compiled)
        for name, value in self._functions.named().items():
            setattr(compiled, name, value)
        for name, value in self._functions.accelerator_named().items():
            if hasattr(compiled, name):
                setattr(compiled, name, value)
        for name in _declared(compiled):
            if not hasattr(compiled, name):
                setattr(compiled, name, refusal(f"torch._C.{name}"))

    def cuda(self, cuda: ModuleType) -> None:
        """Renew the names that torch.cuda copied from torch._C, or that it set because it found no CUDA."""
        compiled = sys.modules["torch._C"]
        functions = self._functions.named()
        for name, original in _BOUND_AT_IMPORT:
            setattr(cuda, name, functions[original])
        refuse_classes(compiled)
        stand_in_streams(compiled, self._machine)
        capturing = "_cuda_isCurrentStreamCapturing"
        for module in (compiled, sys.modules.get("torch.cuda.graphs")):
            if module is not None:
                setattr(module, capturing, functions[capturing])
        if not self._machine.setup.redirect:
            refuse_tensors(cuda, self._machine)
        if self._machine.setup.profile.nvml and self._machine.driver.library is None:
            self._answer_for_nvml(cuda)

    def _answer_for_nvml(self, cuda: ModuleType) -> None:
        # Without an NVML library torch would ask the driver instead, which has other effects.
        count = self._machine.setup.count
        cuda._raw_device_count_nvml = lambda: count  # type: ignore[attr-defined]
        cuda._raw_device_uuid_nvml = lambda: [f"GPU-{uuid_of(index)}" for index in range(count)]  # type: ignore[attr-defined]


def _take_out(compiled: ModuleType) -> None:
    """Remove the device functions of a build for real devices, which would ask the real driver."""
    for name in [name for name in vars(compiled) if name.startswith("_cuda_")]:
        delattr(compiled, name)
    for name in _CLASSES:
        # torch.cuda then uses a stand-in for the class.
        if hasattr(compiled, name):
            delattr(compiled, name)
    # torch's C++ part asks the driver itself, for instance in backward passes, and only warns if that fails.
    warnings.filterwarnings("ignore", "CUDA initialization", UserWarning)


def _declared(compiled: ModuleType) -> list[str]:
    """Return the names that this torch declares for CUDA builds, according to its own type stub."""
    folder = Path(compiled.__file__ or "").parent
    try:
        text = (folder / "_C" / "__init__.pyi").read_text(encoding="utf-8")
    except OSError:
        return []
    return re.findall(r"^def (_cuda_\w+)", text, re.MULTILINE)
