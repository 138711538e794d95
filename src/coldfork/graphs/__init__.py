"""CUDA graphs whose warm-up and capture cannot share state, and a check for managers that let them.

Importing this package loads nothing of torch; using it does.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.graphs.descriptors import BatchDescriptor as BatchDescriptor
    from coldfork.graphs.descriptors import CreateForward as CreateForward
    from coldfork.graphs.descriptors import CreateForwardOn as CreateForwardOn
    from coldfork.graphs.descriptors import Mode as Mode
    from coldfork.graphs.descriptors import Phase as Phase
    from coldfork.graphs.descriptors import StatePair as StatePair
    from coldfork.graphs.errors import BusyError as BusyError
    from coldfork.graphs.errors import CaptureFailedError as CaptureFailedError
    from coldfork.graphs.errors import DeviceLostError as DeviceLostError
    from coldfork.graphs.errors import GraphError as GraphError
    from coldfork.graphs.errors import InputError as InputError
    from coldfork.graphs.errors import LeakError as LeakError
    from coldfork.graphs.errors import NotCapturedError as NotCapturedError
    from coldfork.graphs.findings import Leak as Leak
    from coldfork.graphs.findings import LeakKind as LeakKind
    from coldfork.graphs.findings import Report as Report
    from coldfork.graphs.leak_check import check as check
    from coldfork.graphs.manager import GraphManager as GraphManager
    from coldfork.graphs.manager import LeakWarning as LeakWarning
    from coldfork.graphs.pieces import piece as piece

_HOMES = {
    "coldfork.graphs.descriptors": (
        "BatchDescriptor",
        "CreateForward",
        "CreateForwardOn",
        "Mode",
        "Phase",
        "StatePair",
    ),
    "coldfork.graphs.errors": (
        "BusyError",
        "CaptureFailedError",
        "DeviceLostError",
        "GraphError",
        "InputError",
        "LeakError",
        "NotCapturedError",
    ),
    "coldfork.graphs.findings": ("Leak", "LeakKind", "Report"),
    "coldfork.graphs.manager": ("GraphManager", "LeakWarning"),
    "coldfork.graphs.leak_check": ("check",),
    "coldfork.graphs.pieces": ("piece",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BatchDescriptor",
    "BusyError",
    "CaptureFailedError",
    "CreateForward",
    "CreateForwardOn",
    "DeviceLostError",
    "GraphError",
    "GraphManager",
    "InputError",
    "Leak",
    "LeakError",
    "LeakKind",
    "LeakWarning",
    "Mode",
    "NotCapturedError",
    "Phase",
    "Report",
    "StatePair",
    "check",
    "piece",
]


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'coldfork.graphs' has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
