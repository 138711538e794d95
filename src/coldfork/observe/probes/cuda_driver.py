"""Ask CUDA's driver whether it has been initialised in this process.

Before `cuInit` every function of the driver answers CUDA_ERROR_NOT_INITIALIZED, and none of those asked here
initialises it. In a child forked after `cuInit` the answer is the same, so only the parent's record
distinguishes cold from poisoned.
"""

from __future__ import annotations

from coldfork.observe.probes.reading import ABSENT, AWAKE, COLD, CONTEXT, DRIVER, UNKNOWN, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from coldfork.observe.probes.loader import Loader
    from coldfork.observe.probes.process import ProbedProcess

ACCELERATOR = "cuda"
FILE_PREFIX = "libcuda.so"
_SONAME = b"libcuda.so.1"

_SUCCESS = 0
_NOT_INITIALISED = 3
_MOST_DEVICES = 64
#: The meanings of the driver's codes other than `success` and `not initialised`.
MEANINGS = {
    4: "it is shutting down",
    34: "it is the CUDA toolkit's stub and no driver",
    46: "the device is busy or unavailable",
    100: "it found no device",
    101: "it found no valid device",
    803: "it does not fit the kernel module",
    804: "its compatibility package does not support this device",
    999: "it failed for an unknown reason",
}


class CudaDriver:
    """The functions of a loaded `libcuda`, found once."""

    accelerator = ACCELERATOR

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._count: Any = None

    def find(self, path: str | None = None) -> bool:
        """Look up the functions in the library; return False if it is not loaded, or lacks them.

        The library is sought under the name by which programs load it, and by its file if that is known.
        """
        if self._count is not None:
            return True
        loader = self._loader
        names = (_SONAME, path.encode("utf-8", "surrogateescape")) if path else (_SONAME,)
        handle = loader.handle(*names)
        if handle is None:
            return False
        c = loader.ctypes
        pointer = c.c_void_p
        self._number, self._device = c.c_int(), c.c_int()
        self._flags, self._active = c.c_uint(), c.c_int()
        self._context = c.c_void_p()
        self._at = {
            name: c.byref(getattr(self, name))
            for name in ("_number", "_device", "_flags", "_active", "_context")
        }
        self._current = loader.function(handle, b"cuCtxGetCurrent", pointer)
        self._get = loader.function(handle, b"cuDeviceGet", pointer, c.c_int)
        self._primary = loader.function(handle, b"cuDevicePrimaryCtxGetState", c.c_int, pointer, pointer)
        self._count = loader.function(handle, b"cuDeviceGetCount", pointer)
        return self._count is not None

    @property
    def found(self) -> bool:
        """Whether the functions have been found, which stays true after a fork."""
        return self._count is not None

    def code(self) -> int:
        """Return the code of `cuDeviceGetCount`: 0 if the driver is initialised here, 3 if it is not."""
        return int(self._count(self._at["_number"]))

    def devices(self) -> int:
        """Return how many devices the driver counted when `code` last returned 0."""
        return int(self._number.value)

    def has_context(self) -> bool:
        """Return whether this thread has a current context, or the primary one of any device is active.

        This is only for an initialised driver. A context that another thread has made with `cuCtxCreate` is
        not seen, because no function of the driver lists contexts.
        """
        at = self._at
        if self._current is not None and self._current(at["_context"]) == _SUCCESS and self._context.value:
            return True
        if self._get is None or self._primary is None:
            return False
        for ordinal in range(min(self.devices(), _MOST_DEVICES)):
            if self._get(at["_device"], ordinal) != _SUCCESS:
                continue
            known = self._primary(self._device.value, at["_flags"], at["_active"]) == _SUCCESS
            if known and self._active.value:
                return True
        return False

    def level(self) -> str | None:
        """Return the level to which the driver is awake; None if it is not awake or not found."""
        if self._count is None or self._count(self._at["_number"]) != _SUCCESS:
            return None
        return CONTEXT if self.has_context() else DRIVER

    def examine(self, process: ProbedProcess) -> Reading:
        """Return the driver's own answer."""
        path = process.library(FILE_PREFIX)
        if path is None and (process.shows_libraries or not self.find()):
            return Reading(ACCELERATOR, ABSENT)
        if not self.find(path):
            reason = "libcuda is loaded, but has no cuDeviceGetCount or cannot be reached by its name"
            return Reading(ACCELERATOR, UNKNOWN, reason, path)
        return self._judged(self.code(), path)

    def _judged(self, code: int, path: str | None) -> Reading:
        if code == _SUCCESS:
            blind = "the driver answers that it is initialised and sees no device"
            level = CONTEXT if self.has_context() else DRIVER
            return Reading(ACCELERATOR, AWAKE, None if self.devices() else blind, path, level=level)
        if code == _NOT_INITIALISED:
            return Reading(ACCELERATOR, COLD, "the driver answers that it is not initialised", path)
        meaning = MEANINGS.get(code)
        said = f"cuDeviceGetCount returned {code}" + (f": {meaning}" if meaning else "")
        return Reading(ACCELERATOR, UNKNOWN, said, path)
