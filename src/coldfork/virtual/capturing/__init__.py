"""CUDA-graph semantics on CPU tensors: a capture records work without executing it, a replay executes it.

Importing this package does not import torch; `capture()` imports what it needs.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Literal

from coldfork.virtual.errors import (
    CaptureError,
    CaptureRefusedError,
    NotCapturableError,
    ReplayError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from coldfork.virtual.capturing.graph import Graph
    from coldfork.virtual.capturing.memory import Pool

__all__ = ["CaptureError", "CaptureRefusedError", "NotCapturableError", "ReplayError", "capture"]

ErrorMode = Literal["global", "thread_local", "relaxed"]


def capture(pool: Pool | None = None, *, error_mode: ErrorMode = "global") -> AbstractContextManager[Graph]:
    """Record the torch operators of a `with` block without executing them, like a capture on a device.

    The block's outputs hold poison until `graph.replay()` computes them. `pool` is another graph's `.pool`:
    the two graphs then share memory that neither needs between its replays. With another `error_mode` than
    `"global"`, work of other threads is not refused; it runs outside the graph.
    """
    from coldfork.virtual.capturing.graph import capturing

    return capturing(pool, error_mode)
