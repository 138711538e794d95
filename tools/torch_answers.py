"""What is known beforehand about code outside torch's Python sources."""

from __future__ import annotations

import sys

from torch_values import COUNT, FALSE, INDEX, NONE, SOMETHING, Value

#: What the C side answers before any device is awake, in every supported build.
ANSWERS: dict[str, Value] = {
    "torch._C._accelerator_getAccelerator": SOMETHING,
    "torch._C._accelerator_isAllocatorInitialized": FALSE,
    "torch._C._cuda_isInBadFork": FALSE,
    "torch._C._xpu_isInBadFork": FALSE,
    "torch._C._cuda_getDeviceCount": COUNT,
    "torch._C._xpu_getDeviceCount": COUNT,
    "torch._C._cuda_getDevice": INDEX,
    "torch._C._xpu_getDevice": INDEX,
    "torch.jit.is_scripting": FALSE,
    "torch._utils.is_compiling": FALSE,
    "torch.compiler.is_compiling": FALSE,
    "os.getenv": NONE,
    "os.environ.get": NONE,
    "threading.Lock": SOMETHING,
}
#: Functions whose way is too long to follow and whose meaning is plain: the management library's count.
MANAGEMENT = {
    "torch.cuda._device_count_nvml",
    "torch.cuda._device_count_amdsmi",
    "torch.cuda._raw_device_count_nvml",
    "torch.cuda._raw_device_count_amdsmi",
}
#: The same for Level Zero Sysman, which takes a package that torch does not depend on: taken to be absent.
UNMANAGED = {"torch.xpu._device_count_zes"}
#: Outside code that has nothing to do with devices; anything else a function calls has to be described first.
TRANSPARENT = (
    *(f"{name}." for name in sys.stdlib_module_names),
    "builtins.",
    "torch.device",
    "torch.jit.",
    "typing_extensions.",
    "pynvml.",
    "amdsmi.",
)
CHECK = "PYTORCH_NVML_BASED_CUDA_CHECK"
