"""The machine assumed when torch's functions are followed, and the code without sources."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from coldfork.knowledge.catalogue import Value as KnownValue
from coldfork.knowledge.catalogue import ValueKind
from coldfork.source.values.kinds import FALSE, TRUE, Const, External, ModuleRef, Unknown, Value

CHECK = "PYTORCH_NVML_BASED_CUDA_CHECK"
_COUNT = 8


class Something(Unknown):
    """An argument about which only one thing is known: it is not None."""

    __slots__ = ()


SOMETHING = Something(truthy=True)
#: The number of devices, and of one of them.
COUNT = Const(_COUNT)
INDEX = Const(1)
UNANSWERED = Const(-1)


@dataclass(frozen=True)
class Machine:
    """The machine on which torch's functions are followed."""

    accelerator: str
    management: bool = True
    """Whether NVML (cuda) or amdsmi (rocm) answers."""
    nvml_check: bool = False
    """Whether PYTORCH_NVML_BASED_CUDA_CHECK=1 is set."""

    @property
    def environment(self) -> dict[str, str | None]:
        """The environment variables that are set."""
        return {CHECK: "1"} if self.nvml_check else {}

    @property
    def device_module(self) -> str:
        """The module of torch that speaks for the accelerator."""
        return "torch.xpu" if self.accelerator == "xpu" else "torch.cuda"

    @property
    def constants(self) -> dict[str, KnownValue]:
        """Return the constants of a torch build for this machine."""
        build = {"cuda": "cuda", "rocm": "hip", "xpu": "xpu"}[self.accelerator]
        versions = {
            f"torch.version.{name}": "12.0" if name == build else None for name in ("cuda", "hip", "xpu")
        }
        flags = {
            "torch._C._has_cuda": self.accelerator != "xpu",
            "torch._C._has_xpu": self.accelerator == "xpu",
        }
        return {
            name: KnownValue(name, ValueKind.CONSTANT, constant)
            for name, constant in (versions | flags).items()
        }

    @property
    def answers(self) -> Mapping[str, Value]:
        """Return the results of calls before any device is awake, by the name of the called function."""
        count = COUNT if self.management else UNANSWERED
        return {
            **_ANSWERS,
            **dict.fromkeys(_MANAGEMENT, count),
            "torch.get_device_module": ModuleRef(self.device_module),
        }


#: What the C side answers in every supported build, and what is too long to follow and plain in its meaning.
_ANSWERS: dict[str, Value] = {
    "torch._C._accelerator_getAccelerator": SOMETHING,
    "torch._C._accelerator_isAllocatorInitialized": FALSE,
    "torch._C._cuda_isInBadFork": FALSE,
    "torch._C._xpu_isInBadFork": FALSE,
    "torch._C._cuda_getDeviceCount": COUNT,
    "torch._C._xpu_getDeviceCount": COUNT,
    "torch._C._cuda_getDevice": INDEX,
    "torch._C._xpu_getDevice": INDEX,
    "torch.utils._triton.has_triton_package": TRUE,
    "torch.backends.mps.is_available": FALSE,
    "torch.jit.is_scripting": FALSE,
    "torch._utils.is_compiling": FALSE,
    "torch.compiler.is_compiling": FALSE,
    # Level Zero Sysman takes a package that torch does not depend on: it is taken to be absent.
    "torch.xpu._device_count_zes": UNANSWERED,
}
#: The management library's count: the way to it is long, and what it means is plain.
_MANAGEMENT = (
    "torch.cuda._device_count_nvml",
    "torch.cuda._device_count_amdsmi",
    "torch.cuda._raw_device_count_nvml",
    "torch.cuda._raw_device_count_amdsmi",
)
#: Outside code that has nothing to do with devices; anything else a function calls has to be described first.
TRANSPARENT = (
    *(f"{name}." for name in sys.stdlib_module_names),
    "builtins.",
    "torch.device",
    "torch.jit.",
    "typing_extensions.",
    "packaging.",
    "pynvml.",
    "amdsmi.",
    # The words of an error that is about to be raised.
    "torch._C._cudart.cudaError",
    "torch._C._cudart.cudaGetErrorString",
)
#: Packages that are taken to be installed; their insides are not looked at.
INSTALLED = ("pynvml", "amdsmi", "triton")


def settled(machine: Machine, function: str, arguments: tuple[Value, ...]) -> bool | None:
    """Return what `hasattr` and `isinstance` say where the sources do not; None when it is unknown."""
    match function, arguments:
        case "builtins.hasattr", (External() | ModuleRef() as owner, Const(value=name)):
            if owner.name == "torch._C":
                return _is_built(machine, str(name))
            if owner.name == "torch" and name in ("xpu", "mtia"):
                return True
            return False if name == "is_initializing" else None
        case "builtins.hasattr", (Unknown(), Const(value="is_initializing")):
            return False
        case "builtins.isinstance", (Const(), External(name=name)) if name.startswith("torch."):
            return False
    return None


def _is_built(machine: Machine, name: str) -> bool:
    """Whether a build of torch for this machine has a C function."""
    other = "_cuda_" if machine.accelerator == "xpu" else "_xpu_"
    return not name.startswith(other)
