"""The points of a capture at which somebody may look on."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from coldfork.graphs.descriptors import BatchDescriptor, Phase


class Inspection:
    """What surrounds the steps of a capture; this one looks at nothing, and costs nothing."""

    watches = False
    """Whether it follows what runs eagerly, operator by operator."""

    def building(self, descriptor: BatchDescriptor, phase: Phase) -> AbstractContextManager[None]:
        """Around the making of a forward function."""
        return nullcontext()

    def warming_up(self, forward: Any, state: Any) -> AbstractContextManager[None]:
        """Around the warm-up run."""
        return nullcontext()

    def capturing(self, forward: Any, state: Any) -> AbstractContextManager[None]:
        """Around the capture."""
        return nullcontext()

    def captured(self, graph: Any) -> None:
        """One graph is complete."""
