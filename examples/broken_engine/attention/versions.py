"""Which generation of the flash-attention kernels fits the device."""

from __future__ import annotations

from broken_engine.hardware import compute_capability

HOPPER = (9, 0)


def flash_version() -> int:
    """3 on Hopper, whose kernels cannot run elsewhere, and 2 on older devices."""
    return 3 if compute_capability() == HOPPER else 2
