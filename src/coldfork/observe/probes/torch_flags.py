"""PyTorch's flags for accelerators that it initialises lazily: CUDA, ROCm (under CUDA's name) and XPU."""

from __future__ import annotations

from coldfork.observe.probes.modules import namespace
from coldfork.observe.probes.reading import AWAKE, CONTEXT, POISONED, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.observe.probes.process import ProbedProcess
    from coldfork.observe.probes.reading import Awake

BAD_FORK = "PyTorch says that this process was forked from one in which it had touched the device"


class TorchFlags:
    """One of torch's device modules, `torch.cuda` or `torch.xpu`.

    If the flag is set, the device is awake; if it is not, the device need not be cold:
    `torch.cuda.is_available()` initialises the driver without setting the flag.
    """

    def __init__(self, module: str, accelerator: str) -> None:
        self.module = module
        self._accelerator = accelerator

    def awake(self) -> Awake:
        """Return the accelerator if torch has initialised it here, in a fraction of a microsecond."""
        names = namespace(self.module)
        if names is None or names.get("_initialized") is not True:
            return ()
        return ((self.accelerator, CONTEXT),)

    @property
    def accelerator(self) -> str:
        """Return the accelerator of the module; a PyTorch built for ROCm calls its accelerator CUDA."""
        if self._accelerator == "cuda" and is_rocm(namespace("torch.version")):
            return "rocm"
        return self._accelerator

    def examine(self, process: ProbedProcess) -> Reading | None:
        """Return awake or poisoned if torch's flags say so, or else None."""
        names = process.module(self.module)
        if names is None:
            return None
        library = process.library("libtorch_python")
        forked = names.get("_is_in_bad_fork")
        if callable(forked) and forked() is True:
            return Reading(self.accelerator, POISONED, BAD_FORK, library)
        if names.get("_initialized") is True:
            return Reading(self.accelerator, AWAKE, level=CONTEXT, library=library)
        return None


def is_rocm(version: object) -> bool:
    """Return whether the names of `torch.version` are those of a build for ROCm."""
    return isinstance(version, dict) and isinstance(version.get("hip"), str)
