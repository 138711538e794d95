"""What the driver and NVML answer, as a short-lived process was told; nothing of theirs is loaded here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of a device that is divided (MIG)."""

    uuid: str
    numbers: tuple[int | None, int | None] = (None, None)
    """Of the GPU instance, and of the compute instance in it."""
    memory_total: int | None = None
    memory_free: int | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """One device as NVML describes it; None is what it would not say."""

    index: int
    name: str = ""
    uuid: str = ""
    compute_mode: int | None = None
    persistence: bool | None = None
    mig: bool | None = None
    mig_pending: bool | None = None
    instances: tuple[Instance, ...] | None = None
    memory_total: int | None = None
    memory_free: int | None = None
    memory_used: int | None = None
    processes: tuple[int, ...] = ()
    """The processes that compute on it, as far as NVML shows them here."""

    @property
    def mig_devices(self) -> int | None:
        """Into how many instances it is divided."""
        return None if self.instances is None else len(self.instances)


@dataclass(frozen=True, slots=True)
class Touched:
    """What a process of its own saw when it woke the devices."""

    code: int
    """What `cuInit` returned, else the first code that was not 0."""
    step: str
    """The call that returned it."""
    devices: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Management:
    """The answers; each error is one sentence and means that the rest was not asked."""

    nvml_error: str | None = None
    nvml_loaded: bool = False
    nvml_code: int | None = None
    driver: str | None = None
    """The driver's version, such as 570.86.15."""
    cuda: int | None = None
    """The CUDA that the driver serves, by NVML or by libcuda: 12080 is 12.8."""
    libcuda_error: str | None = None
    libcuda_loaded: bool = False
    devices: tuple[Device, ...] = ()
    unanswered: str | None = None
    """Why the process that asks did not answer at all."""

    @property
    def cuda_version(self) -> tuple[int, int] | None:
        """Major and minor number."""
        return None if self.cuda is None else (self.cuda // 1000, self.cuda % 1000 // 10)


def cuda_name(version: tuple[int, int]) -> str:
    """`12.8`."""
    return f"{version[0]}.{version[1]}"
