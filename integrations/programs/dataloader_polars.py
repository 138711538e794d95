"""Reads a polars frame through PyTorch's DataLoader, after a query ran in the parent: plain or coldfork"""

from __future__ import annotations

import faulthandler
import signal
import sys
from typing import Any

import polars as pl
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset[int]):
    """Sums over parts of a frame, each computed in the worker that is asked for it."""

    def __init__(self) -> None:
        self.frame = pl.DataFrame({"key": [number % 4 for number in range(40_000)]})

    def __len__(self) -> int:
        return 4

    def __getitem__(self, key: int) -> int:
        part = self.frame.lazy().filter(pl.col("key") == key)
        return int(part.select(pl.len()).collect().item())


def loader(rows: Rows, how: str) -> Any:
    """A loader with two workers, started as it likes or as coldfork decides."""
    if how == "plain":
        return DataLoader(rows, batch_size=2, num_workers=2)
    import coldfork

    print("coldfork:", coldfork.decide())
    return DataLoader(rows, batch_size=2, num_workers=2, multiprocessing_context=coldfork.get_context())


def main(how: str) -> None:
    """Query the frame here, and then in two workers."""
    # Inherited by forked children: the watchdog asks them where they stand.
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    rows = Rows()
    print("the parent counted", rows[0], flush=True)
    for batch in loader(rows, how):
        print("a worker counted", batch.tolist(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
