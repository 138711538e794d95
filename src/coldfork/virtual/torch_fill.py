"""Fills in what a CPU build of torch lacks, whether torch was imported before or comes later."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

from coldfork.virtual.errors import VirtualDeviceError
from coldfork.virtual.imports import After
from coldfork.virtual.machine import Machine
from coldfork.virtual.torch_functions import ROCM, TOOLKIT, TorchFunctions, refusal

_BOUND_AT_IMPORT = (
    ("_is_in_bad_fork", "_cuda_isInBadFork"),
    ("_cudart", "_cudart"),
    ("_exchange_device", "_cuda_exchangeDevice"),
    ("_maybe_exchange_device", "_cuda_maybeExchangeDevice"),
    ("_CudaDeviceProperties", "_CudaDeviceProperties"),
)
"""Names of torch.cuda that are copies, made when it was imported, of names of torch._C."""


class TorchFill:
    """The steps to take after each of torch's modules was imported."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._functions = TorchFunctions(machine)

    def steps(self) -> dict[str, After]:
        """The steps by module, in the order in which they must be taken where torch is imported already."""
        return {"torch.version": self.version, "torch._C": self.compiled, "torch.cuda": self.cuda}

    def version(self, version: ModuleType) -> None:
        """Make torch say that it was built for this kind of device."""
        if getattr(version, "cuda", None) or getattr(version, "hip", None):
            raise VirtualDeviceError(
                f"torch {version.__version__} is built for real devices, which no virtual one can stand in for; "
                "install the CPU build of torch to use a virtual device"
            )
        if self._machine.setup.profile.accelerator == "rocm":
            version.hip = version.rocm = ROCM  # type: ignore[attr-defined]
        else:
            version.cuda = TOOLKIT  # type: ignore[attr-defined]

    def compiled(self, compiled: ModuleType) -> None:
        """Add the functions of a CUDA build: those simulated, and for the others one that says it is not."""
        for name, value in self._functions.named().items():
            setattr(compiled, name, value)
        for name in _declared(compiled):
            if not hasattr(compiled, name):
                setattr(compiled, name, refusal(f"torch._C.{name}"))

    def cuda(self, cuda: ModuleType) -> None:
        """Renew the copies that torch.cuda made when it was imported before the device was there."""
        compiled = sys.modules["torch._C"]
        for name, original in _BOUND_AT_IMPORT:
            setattr(cuda, name, getattr(compiled, original))
        graphs = sys.modules.get("torch.cuda.graphs")
        if graphs is not None:
            graphs._cuda_isCurrentStreamCapturing = compiled._cuda_isCurrentStreamCapturing  # type: ignore[attr-defined]


def _declared(compiled: ModuleType) -> list[str]:
    """The names that this version of torch declares for builds with CUDA; its own type stub lists them."""
    folder = Path(compiled.__file__ or "").parent
    try:
        text = (folder / "_C" / "__init__.pyi").read_text(encoding="utf-8")
    except OSError:
        return []
    return re.findall(r"^def (_cuda_\w+)", text, re.MULTILINE)
