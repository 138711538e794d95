"""Who wrote each byte of memory last, and whether what was written depends on the batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from coldfork.graphs.leaks.runs import CheckedRun
from coldfork.model.states import Frame

BEFORE = 0
"""Was there before anything was watched."""
NOTHING = 1
"""Was allocated, and never written."""
_EXACT_BYTES = 1 << 26
"""Larger memory is recorded as a whole, not byte by byte."""


class Writer(NamedTuple):
    """One operator that wrote, and in which run."""

    name: str
    where: Frame | None
    run: CheckedRun | None
    depends: bool
    """Whether what it wrote depends on the batch it ran for."""


class Ledger:
    """The last writer of every byte that was written while it was kept."""

    def __init__(self) -> None:
        self.writers: list[Writer] = [
            Writer("what was there", None, None, False),
            Writer("nothing", None, None, True),
        ]
        self._pages: dict[int, tuple[StorageWeakRef, Any]] = {}

    def new_writer(self, writer: Writer) -> int:
        """Its number."""
        self.writers.append(writer)
        return len(self.writers) - 1

    def write(self, tensor: Any, writer: int) -> None:
        """A writer overwrites these elements."""
        page = self._page(tensor, make=True)
        if page.numel() == 1:
            page.fill_(writer)
        else:
            _region(page, tensor).fill_(writer)

    def last_writers(self, tensor: Any) -> list[int]:
        """Who wrote these elements last."""
        if tensor.numel() == 0:
            return []
        page = self._page(tensor, make=False)
        if page is None:
            return [BEFORE]
        if page.numel() == 1:
            return [int(page[0])]
        return [int(one) for one in _region(page, tensor).unique()]

    def forget_dead(self) -> None:
        """Let go of memory that is gone."""
        for key in [key for key, (alive, _) in self._pages.items() if alive.expired()]:
            del self._pages[key]

    def _page(self, tensor: Any, *, make: bool) -> Any:
        storage = tensor.untyped_storage()
        known = self._pages.get(storage._cdata)
        if known is not None:
            return known[1]
        if not make:
            return None
        size = storage.nbytes()
        page = torch.zeros(size if size <= _EXACT_BYTES else 1, dtype=torch.int32)
        self._pages[storage._cdata] = StorageWeakRef(storage), page
        return page


def _region(page: Any, tensor: Any) -> Any:
    """The part of a page that stands for a tensor's elements."""
    item = tensor.element_size()
    return page.as_strided(
        (*tensor.shape, item),
        (*(stride * item for stride in tensor.stride()), 1),
        tensor.storage_offset() * item,
    )
