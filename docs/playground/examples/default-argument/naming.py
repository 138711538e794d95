"""Defaults are computed once, when `def` runs: at the import."""

import torch


def describe(index=0, name=torch.cuda.get_device_name()):
    """Name a device."""
    return f"{index}: {name}"
