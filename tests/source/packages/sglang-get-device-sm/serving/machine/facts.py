"""Facts about the device, computed whenever somebody asks."""

import torch

__all__ = ["device_level"]


def device_level():
    if torch.cuda.is_available():
        major, minor = torch.cuda.get_device_capability()
        return major * 10 + minor
    return 0
