"""Functions that programs call from another module."""

import torch

DEVICE = "cuda"


def filled(count):
    return torch.zeros(count, device=DEVICE)


def filled_if_asked(count, asked):
    return filled(count) if asked else torch.zeros(count)
