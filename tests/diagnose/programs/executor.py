"""An executor of concurrent.futures whose forked workers use the device."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import torch


def ask(number: int) -> str:
    """Ask for the device in a worker."""
    return f"{number}: {torch.cuda.get_device_name()}"


if __name__ == "__main__":
    torch.cuda.get_device_name()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as executor:
        print(list(executor.map(ask, range(4))))
