"""What the compiled mixers need of the device."""

import torch


def _fits_first():
    return torch.cuda.get_device_capability()[0] >= 8


def _fits_second():
    return torch.cuda.get_device_capability()[0] == 9


def generation_fits(generation):
    assert generation in (1, 2)
    if generation == 1:
        return _fits_first()
    if generation == 2:
        return _fits_second()
    return False
