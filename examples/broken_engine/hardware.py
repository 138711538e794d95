"""Questions about the device that more than one backend asks."""

from __future__ import annotations

import torch


def compute_capability() -> tuple[int, int]:
    """Major and minor number of the device; asking creates a CUDA context in the process that asks."""
    return torch.cuda.get_device_capability()


def memory_in_use() -> int:
    """Bytes that this process has allocated on the device."""
    return torch.cuda.memory_allocated()
