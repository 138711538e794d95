"""A pool of forked workers fails; the parent raises what one of them sent it."""

from __future__ import annotations

import multiprocessing

import torch


def ask(number: int) -> str:
    """Ask for the device in a worker."""
    return f"{number}: {torch.cuda.get_device_name()}"


if __name__ == "__main__":
    torch.cuda.get_device_name()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(ask, range(4)))
