"""Reads a model from a file."""

import torch

KNOWN = {"small": 64, "large": 512}


def read(
    name,
    device="cuda" if torch.cuda.is_available() else "cpu",  # expect: driver-init-at-import
    strict=False,
):
    """Read a model by its name."""
    if strict and name not in KNOWN:
        raise KeyError(name)
    return torch.zeros(KNOWN.get(name, 1), device=device)
