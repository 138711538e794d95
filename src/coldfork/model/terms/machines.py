"""The machines that a check may assume."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Profile:
    """The machine that is assumed: which accelerators it has, and whether NVML answers for CUDA."""

    name: str
    accelerators: frozenset[str]
    nvml: bool
    summary: str


PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("cuda", frozenset({"cuda"}), True, "an NVIDIA GPU, its driver, and working NVML"),
        Profile("cuda-without-nvml", frozenset({"cuda"}), False, "an NVIDIA GPU and its driver, but no NVML"),
        Profile("rocm", frozenset({"rocm"}), False, "an AMD GPU with ROCm"),
        Profile("xpu", frozenset({"xpu"}), False, "an Intel GPU"),
        Profile("jax-gpu", frozenset({"cuda", "jax"}), True, "JAX with its CUDA plugin on an NVIDIA GPU"),
        Profile("cpu", frozenset(), False, "no accelerator at all"),
    )
}
DEFAULT_PROFILE = "cuda"
