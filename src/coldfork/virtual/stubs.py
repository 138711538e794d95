"""The virtual driver and management library in C, loaded where every program in this process finds them."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from coldfork.virtual import compiling
from coldfork.virtual.profiles import MOST_DEVICES, Profile, Setup

DRIVER = "libcuda.so.1"
MANAGEMENT = "libnvidia-ml.so.1"
DRIVER_VERSION = "570.86.15"
CUDA_VERSION = 12080
_MOST_ATTRIBUTES = 96
_NOT_LOADING = getattr(os, "RTLD_NOLOAD", 0)
_STATES = ("cold", "awake", "poisoned")


class Description(ctypes.Structure):
    """The description of the devices for `native/driver.c`."""

    _fields_ = (
        ("name", ctypes.c_char * 96),
        ("memory", ctypes.c_ulonglong),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("driver_version", ctypes.c_int),
        ("count", ctypes.c_int),
        ("attributes", ctypes.c_int),
        ("ids", ctypes.c_int * _MOST_ATTRIBUTES),
        ("values", ctypes.c_int * _MOST_ATTRIBUTES),
    )


class Board(ctypes.Structure):
    """The description of a device for `native/management.c`."""

    _fields_ = (
        ("name", ctypes.c_char * 96),
        ("driver", ctypes.c_char * 80),
        ("memory", ctypes.c_ulonglong),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("cuda_version", ctypes.c_int),
        ("count", ctypes.c_int),
        ("answers", ctypes.c_int),
    )


class NativeDriver:
    """The driver in C, which torch's part of the virtual device and all other code in the process share.

    The methods are described in `virtual.driver.Driver`.
    """

    def __init__(self, setup: Setup) -> None:
        place = compiling.library(Path(__file__).with_name("native") / "driver.c", DRIVER)
        self.library: str | None = str(place)
        self._handle = _load(place)
        description = _description(setup)
        if self._handle.coldfork_configure(ctypes.byref(description)) != 0:
            raise compiling.CannotCompileError(
                "the virtual driver is already initialised and cannot be changed"
            )

    def initialise(self) -> int:
        return int(self._handle.cuInit(0))

    def state(self) -> str:
        return _STATES[self._handle.coldfork_state()]

    def visible(self) -> tuple[int, ...]:
        ordinals = (ctypes.c_int * MOST_DEVICES)()
        return tuple(ordinals[: self._handle.coldfork_visible(ordinals)])

    def retain(self, index: int) -> None:
        if not self.has_context(index):
            self._handle.cuDevicePrimaryCtxRetain(ctypes.byref(ctypes.c_void_p()), index)

    def has_context(self, index: int) -> bool:
        flags, active = ctypes.c_uint(), ctypes.c_int()
        code = self._handle.cuDevicePrimaryCtxGetState(index, ctypes.byref(flags), ctypes.byref(active))
        return code == 0 and bool(active.value)

    def watch_forks(self) -> None:
        """Mark the children forked from now on, including those that compiled code forks."""
        self._handle.coldfork_watch_forks()

    def in_bad_fork(self) -> bool:
        return bool(self._handle.coldfork_in_bad_fork())

    def offer(self, offered: bool) -> None:
        self._handle.coldfork_offer(int(offered))


def load_management(setup: Setup) -> str | None:
    """Load a library that makes NVML answer for the devices, or fail if they have no NVML; return
    its file.
    """
    if not setup.profile.nvml and not _machine_has_nvidia():
        return None
    place = compiling.library(Path(__file__).with_name("native") / "management.c", MANAGEMENT)
    profile = setup.profile
    board = Board(
        name=profile.product.encode(),
        driver=DRIVER_VERSION.encode(),
        memory=profile.board_memory,
        major=profile.capability[0],
        minor=profile.capability[1],
        cuda_version=CUDA_VERSION,
        count=setup.count,
        answers=int(profile.nvml),
    )
    _load(place).coldfork_configure(ctypes.byref(board))
    return str(place)


def foreign_library(name: str) -> bool:
    """Return whether a library with this name is loaded here that is not the virtual one."""
    if not _NOT_LOADING:
        return False
    try:
        handle = ctypes.CDLL(name, mode=_NOT_LOADING)
    except OSError:
        return False
    return not hasattr(handle, "coldfork_configure")


def _machine_has_nvidia() -> bool:
    # The machine's own NVML would be found on disk and answer; so ours must be found first, and fail.
    return sys.platform.startswith("linux") and Path("/proc/driver/nvidia").exists()


def _load(place: Path) -> ctypes.CDLL:
    """Load a library for the whole process, where `dlopen` of its SONAME finds it."""
    try:
        return ctypes.CDLL(str(place), mode=os.RTLD_NOW | os.RTLD_GLOBAL)
    except OSError as error:
        # The file is truncated, or made for another machine; without it, the next attempt makes a new one.
        place.unlink(missing_ok=True)
        raise compiling.CannotCompileError(f"cannot load {place}: {error}") from error


def _description(setup: Setup) -> Description:
    profile = setup.profile
    attributes = dict(_attributes(profile))
    return Description(
        name=profile.product.encode(),
        memory=profile.memory,
        major=profile.capability[0],
        minor=profile.capability[1],
        driver_version=CUDA_VERSION,
        count=setup.count,
        attributes=len(attributes),
        ids=(ctypes.c_int * _MOST_ATTRIBUTES)(*attributes),
        values=(ctypes.c_int * _MOST_ATTRIBUTES)(*attributes.values()),
    )


def _attributes(profile: Profile) -> Iterator[tuple[int, int]]:
    """Yield the attributes by number, as in `CUdevice_attribute` of cuda.h."""
    yield from ((1, 1024), (2, 1024), (3, 1024), (4, 64))  # the most threads in a block
    yield from ((5, 2**31 - 1), (6, 65535), (7, 65535))  # the most blocks in a grid
    yield from ((8, 48 * 1024), (9, 64 * 1024), (10, profile.warp), (11, 2**31 - 1), (12, 65536))
    yield from ((13, profile.clock_khz), (14, 512), (15, 1), (16, profile.processors))
    yield from ((19, 1), (31, 1), (32, int(profile.ecc)))  # host memory mapped, kernels side by side, ECC
    yield from ((36, profile.memory_clock_khz), (37, profile.bus_bits), (38, profile.l2_cache))
    yield from ((39, profile.threads_per_processor), (40, 3), (41, 1))
    yield from ((75, profile.capability[0]), (76, profile.capability[1]), (78, 1))
    yield from ((81, profile.shared_memory_per_processor), (82, 65536), (83, 1))
    yield from ((89, 1), (90, 1), (95, 1), (97, profile.shared_memory_opt_in))
    yield from ((106, profile.blocks_per_processor), (111, 1024), (115, 1))
    yield (120, int(profile.capability >= (9, 0)))  # launches in clusters
