"""Claiming a device, as every engine with a model on a GPU does before it begins."""

from __future__ import annotations


def claim(device: str) -> None:
    """Initialise the device in this process; in one forked from a process that holds it, torch refuses."""
    if device == "cuda":
        import torch

        torch.cuda.init()
