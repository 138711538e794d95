"""A dataset that uses the device in the forked workers of a DataLoader."""

from __future__ import annotations

import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):  # type: ignore[misc]
    """Asks for the device of every item."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        return index * int(torch.cuda.get_device_capability()[0])


if __name__ == "__main__":
    torch.cuda.get_device_name()
    for batch in DataLoader(Squares(), num_workers=2, multiprocessing_context="fork"):
        print(batch)
