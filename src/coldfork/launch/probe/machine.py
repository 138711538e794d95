"""Which accelerators there are for an import to wake."""

from __future__ import annotations

from pathlib import Path

from coldfork.virtual.profiles import PROFILES, parse

#: What the drivers of NVIDIA, AMD, Intel and of Windows' subsystem for Linux put under /dev.
_NODES = ("nvidiactl", "nvidia[0-9]*", "kfd", "dri/renderD*", "accel/accel*", "dxg")
_CUDA = ("nvidiactl", "nvidia[0-9]*", "dxg")
_ROCM = ("kfd",)


def device(virtual: str | None, nodes: Path = Path("/dev")) -> str:
    """What an import is set before: `virtual:NAME`, `real`, or `none` on a machine without an accelerator."""
    if virtual:
        return f"virtual:{virtual}"
    return "real" if _any(_NODES, nodes) else "none"


def accelerators(virtual: str | None, nodes: Path = Path("/dev")) -> frozenset[str]:
    """The accelerators that an import is sure to find. Others may be there: only their own code knows."""
    if virtual:
        return frozenset((PROFILES[parse(virtual)[0]].accelerator,))
    there = {"cuda": _any(_CUDA, nodes), "rocm": _any(_ROCM, nodes)}
    return frozenset(name for name, found in there.items() if found)


def has_management(virtual: str | None) -> bool:
    """Whether a device can be counted without its driver, as far as is known."""
    return virtual is None or PROFILES[parse(virtual)[0]].nvml


def _any(names: tuple[str, ...], nodes: Path) -> bool:
    return any(next(nodes.glob(node), None) is not None for node in names)
