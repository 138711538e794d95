"""Reads a polars frame through PyTorch's DataLoader, after a query ran in the parent: plain or coldfork"""

from __future__ import annotations

import faulthandler
import signal
import sys
from multiprocessing.context import BaseContext

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


def context(how: str) -> BaseContext | None:
    """What the DataLoader is to start its workers by; None is what it takes by itself."""
    if how == "plain":
        return None
    import coldfork

    print("coldfork:", coldfork.decide())
    return coldfork.get_context()


def main(how: str) -> None:
    """Query the frame here, and then in two workers."""
    # Inherited by forked children: the watchdog asks them where they stand.
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    rows = Rows()
    print("the parent counted", rows[0], flush=True)
    loader = DataLoader(rows, batch_size=2, num_workers=2, multiprocessing_context=context(how))
    for batch in loader:
        print("a worker counted", batch.tolist(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
