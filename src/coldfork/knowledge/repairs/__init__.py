"""Published faults that wake a device too early, and the versions that repaired them.

They are data, so that code that has found a line at fault can say whether a newer version is the remedy.
Every entry was checked in the sources of the faulty version and of the repaired one.
"""

from __future__ import annotations

from collections.abc import Iterator

from coldfork.knowledge.repairs.entry import Fault, Repair
from coldfork.knowledge.repairs.libraries import LIBRARIES
from coldfork.knowledge.repairs.vllm import VLLM

__all__ = ["REPAIRS", "Fault", "Repair", "of_call"]

REPAIRS = (*VLLM, *LIBRARIES)


def of_call(path: str, function: str, text: str) -> Iterator[Repair]:
    """Yield the repairs for any published fault at this call of a stack or step of a chain."""
    for repair in REPAIRS:
        if any(fault.is_at(path, function, text) for fault in repair.faults):
            yield repair
