"""The available models of virtual devices, with their properties."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from coldfork.virtual.errors import UnknownDeviceError

MOST_DEVICES = 64
_KIB = 1024
_MIB = 1024 * _KIB


@dataclass(frozen=True, slots=True)
class Profile:
    """One model of GPU, as its driver describes it.

    The figures come from the makers' data sheets and from the CUDA programming guide's table of compute
    capabilities. Drivers reserve different amounts of memory in different versions, so `memory` is typical,
    not exact.
    """

    name: str
    product: str
    """The product name that the driver reports."""
    accelerator: str
    capability: tuple[int, int]
    processors: int
    """The number of streaming multiprocessors, or compute units."""
    memory: int
    """The bytes that the driver offers to programs."""
    board_memory: int
    """The bytes that the management library reports."""
    l2_cache: int
    clock_khz: int
    memory_clock_khz: int
    bus_bits: int
    shared_memory_per_processor: int
    shared_memory_opt_in: int
    threads_per_processor: int = 2048
    blocks_per_processor: int = 32
    warp: int = 32
    ecc: bool = True
    nvml: bool = True
    """Whether there is a management library, too."""
    architecture: str = ""
    """The name that compilers use, if it does not follow from the capability."""
    summary: str = field(default="", compare=False)


_NVIDIA = (
    Profile(
        name="a100",
        product="NVIDIA A100-SXM4-80GB",
        accelerator="cuda",
        capability=(8, 0),
        processors=108,
        memory=81_154 * _MIB,
        board_memory=81_920 * _MIB,
        l2_cache=40 * _MIB,
        clock_khz=1_410_000,
        memory_clock_khz=1_593_000,
        bus_bits=5120,
        shared_memory_per_processor=164 * _KIB,
        shared_memory_opt_in=163 * _KIB,
        summary="Ampere, compute capability 8.0",
    ),
    Profile(
        name="h100",
        product="NVIDIA H100 80GB HBM3",
        accelerator="cuda",
        capability=(9, 0),
        processors=132,
        memory=81_079 * _MIB,
        board_memory=81_559 * _MIB,
        l2_cache=50 * _MIB,
        clock_khz=1_980_000,
        memory_clock_khz=2_619_000,
        bus_bits=5120,
        shared_memory_per_processor=228 * _KIB,
        shared_memory_opt_in=227 * _KIB,
        summary="Hopper, compute capability 9.0",
    ),
    Profile(
        name="h200",
        product="NVIDIA H200",
        accelerator="cuda",
        capability=(9, 0),
        processors=132,
        memory=143_156 * _MIB,
        board_memory=143_771 * _MIB,
        l2_cache=60 * _MIB,
        clock_khz=1_980_000,
        memory_clock_khz=3_201_000,
        bus_bits=6144,
        shared_memory_per_processor=228 * _KIB,
        shared_memory_opt_in=227 * _KIB,
        summary="Hopper with more memory, compute capability 9.0",
    ),
    Profile(
        name="b200",
        product="NVIDIA B200",
        accelerator="cuda",
        capability=(10, 0),
        processors=148,
        memory=182_632 * _MIB,
        board_memory=183_359 * _MIB,
        l2_cache=126 * _MIB,
        clock_khz=1_965_000,
        memory_clock_khz=3_996_000,
        bus_bits=8192,
        shared_memory_per_processor=228 * _KIB,
        shared_memory_opt_in=227 * _KIB,
        summary="Blackwell, compute capability 10.0",
    ),
    Profile(
        name="rtx4090",
        product="NVIDIA GeForce RTX 4090",
        accelerator="cuda",
        capability=(8, 9),
        processors=128,
        memory=24_209 * _MIB,
        board_memory=24_564 * _MIB,
        l2_cache=72 * _MIB,
        clock_khz=2_520_000,
        memory_clock_khz=10_501_000,
        bus_bits=384,
        shared_memory_per_processor=100 * _KIB,
        shared_memory_opt_in=99 * _KIB,
        threads_per_processor=1536,
        blocks_per_processor=24,
        ecc=False,
        summary="Ada, compute capability 8.9, for desktops",
    ),
)


_MI300X = Profile(
    name="mi300x",
    product="AMD Instinct MI300X",
    accelerator="rocm",
    capability=(9, 4),
    processors=304,
    memory=196_592 * _MIB,
    board_memory=196_592 * _MIB,
    l2_cache=4 * _MIB,
    clock_khz=2_100_000,
    memory_clock_khz=1_300_000,
    bus_bits=8192,
    shared_memory_per_processor=64 * _KIB,
    shared_memory_opt_in=64 * _KIB,
    warp=64,
    nvml=False,
    architecture="gfx942:sramecc+:xnack-",
    summary="CDNA 3, for ROCm",
)


def _without_nvml(profile: Profile) -> Profile:
    return replace(
        profile,
        name=f"{profile.name}-without-nvml",
        nvml=False,
        summary=f"{profile.summary}; a driver, but no NVML beside it",
    )


PROFILES: dict[str, Profile] = {
    profile.name: profile for profile in (*_NVIDIA, *map(_without_nvml, _NVIDIA), _MI300X)
}


@dataclass(frozen=True, slots=True)
class Setup:
    """The devices to install in a process: a model, and their number."""

    profile: Profile
    count: int
    redirect: bool = False
    """Whether work for the device is done on the CPU, after waking the device."""

    def __str__(self) -> str:
        return f"virtual:{self.profile.name}" + (f":{self.count}" if self.count != 1 else "")


def parse(text: str) -> tuple[str, int]:
    """Read `NAME` or `NAME:N`, as `--virtual` takes it: `parse("h100:2")` is `("h100", 2)`."""
    name, separator, number = text.partition(":")
    if separator and not re.fullmatch(r"[0-9]{1,3}", number):
        raise UnknownDeviceError(f"{text!r} is neither NAME nor NAME:N, such as h100:2")
    count = int(number) if separator else 1
    setup(name, count)
    return name, count


def setup(name: str, count: int, *, nvml: bool = True, redirect: bool = False) -> Setup:
    """Return the setup for a model's name and a number of devices."""
    profile = PROFILES.get(name)
    if profile is None:
        raise UnknownDeviceError(f"there is no virtual device {name!r}; there are {', '.join(PROFILES)}")
    if not 1 <= count <= MOST_DEVICES:
        raise UnknownDeviceError(
            f"cannot have {count} devices: a virtual machine has 1 to {MOST_DEVICES} of them"
        )
    if profile.nvml and not nvml:
        profile = PROFILES[f"{name}-without-nvml"]
    return Setup(profile, count, redirect)
