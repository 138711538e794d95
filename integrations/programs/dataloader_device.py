"""Uses a virtual H100 in PyTorch's DataLoader after the parent has used it: plain or coldfork"""

from __future__ import annotations

import sys
from multiprocessing.context import BaseContext

import torch
from torch.utils.data import DataLoader, Dataset

import coldfork
import coldfork.virtual

coldfork.virtual.install("h100")


class Names(Dataset[str]):
    """The name of the device, as a worker sees it."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> str:
        torch.cuda.set_device(0)
        return f"{index}: {torch.cuda.get_device_name()}"


def context(how: str) -> BaseContext | None:
    """Return the context for the DataLoader's workers; None leaves the choice to it."""
    if how == "plain":
        return None
    print("coldfork:", coldfork.decide())
    return coldfork.get_context()


def main(how: str) -> None:
    """Ask for the device here, and then in a worker."""
    print("the parent sees", torch.cuda.get_device_name(), flush=True)
    for batch in DataLoader(Names(), num_workers=1, multiprocessing_context=context(how)):
        print("a worker sees", batch, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
