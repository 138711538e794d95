"""CUDA graphs whose warm-up and capture share no state, and a leak check for other graph managers.

Importing this package does not import torch; using it does.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.graphs.descriptors import (
        BatchDescriptor,
        CreateForward,
        CreateForwardOn,
        Mode,
        Phase,
        Rule,
        StatePair,
        in_place_of,
    )
    from coldfork.graphs.errors import (
        BusyError,
        CaptureFailedError,
        DeviceLostError,
        GraphError,
        InputError,
        LeakError,
        LeakWarning,
        MemoryBudgetError,
        NotCapturedError,
        NotComparedError,
        StaleOutputError,
    )
    from coldfork.graphs.findings import Leak, LeakKind, NotCompared, Report
    from coldfork.graphs.gradients import make_graphed_callables
    from coldfork.graphs.leak_check import assert_replayable, check
    from coldfork.graphs.manager import GraphManager
    from coldfork.graphs.microbatches import Microbatches
    from coldfork.graphs.passes import current_state
    from coldfork.graphs.pieces import eager, piece

_HOMES = {
    "coldfork.graphs.descriptors": (
        "BatchDescriptor", "CreateForward", "CreateForwardOn", "Mode", "Phase", "Rule", "StatePair",
        "in_place_of",
    ),
    "coldfork.graphs.errors": (
        "BusyError", "CaptureFailedError", "DeviceLostError", "GraphError", "InputError", "LeakError",
        "LeakWarning", "MemoryBudgetError", "NotCapturedError", "NotComparedError", "StaleOutputError",
    ),
    "coldfork.graphs.findings": ("Leak", "LeakKind", "NotCompared", "Report"),
    "coldfork.graphs.gradients": ("make_graphed_callables",),
    "coldfork.graphs.leak_check": ("assert_replayable", "check"),
    "coldfork.graphs.manager": ("GraphManager",),
    "coldfork.graphs.microbatches": ("Microbatches",),
    "coldfork.graphs.passes": ("current_state",),
    "coldfork.graphs.pieces": ("eager", "piece"),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BatchDescriptor", "BusyError", "CaptureFailedError", "CreateForward", "CreateForwardOn",
    "DeviceLostError", "GraphError", "GraphManager", "InputError", "Leak", "LeakError", "LeakKind",
    "LeakWarning", "MemoryBudgetError", "Microbatches", "Mode", "NotCapturedError", "NotCompared",
    "NotComparedError", "Phase", "Report", "Rule", "StaleOutputError", "StatePair", "assert_replayable",
    "check", "current_state", "eager", "in_place_of", "make_graphed_callables", "piece",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'coldfork.graphs' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
