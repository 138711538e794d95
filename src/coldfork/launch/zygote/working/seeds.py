"""Draws new seeds in a worker, so that no two of them produce the same random numbers."""

from __future__ import annotations

import sys


def redraw() -> None:
    """Seed the global generators of the modules that are loaded."""
    random = sys.modules.get("random")
    if random is not None:
        random.seed()
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    torch = sys.modules.get("torch")
    if torch is not None:
        # The processor's alone: that of a device is seeded when the device wakes.
        torch.default_generator.seed()
