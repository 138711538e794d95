"""Whether this machine has an accelerator that an import could wake."""

from __future__ import annotations

from pathlib import Path

#: What the drivers of NVIDIA, AMD, Intel and of Windows' subsystem for Linux put under /dev.
_NODES = ("nvidiactl", "nvidia[0-9]*", "kfd", "dri/renderD*", "accel/accel*", "dxg")


def device(virtual: str | None, nodes: Path = Path("/dev")) -> str:
    """What an import is set before: `virtual:NAME`, `real`, or `none` on a machine without an accelerator."""
    if virtual:
        return f"virtual:{virtual}"
    return "real" if any(next(nodes.glob(node), None) is not None for node in _NODES) else "none"
