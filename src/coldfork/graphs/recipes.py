"""The recipe for each captured batch, to capture it again if its inputs have moved in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from coldfork.graphs.batches import CapturedBatch, Make
from coldfork.graphs.descriptors import BatchDescriptor
from coldfork.graphs.errors import InputError
from coldfork.graphs.passes import StaticInputs

Inputs = Callable[[BatchDescriptor], Mapping[str, Any]]
"""Returns the input tensors of a batch's graph, by name."""
Moved = Literal["ignore", "error", "record"]
"""The choices for a replay whose input tensors have moved in memory."""


class Recipes:
    """The functions that make each batch's forward function and inputs; empty if moved inputs are ignored."""

    def __init__(self, moved: Moved) -> None:
        if moved not in ("ignore", "error", "record"):
            raise ValueError(f"moved is 'ignore', 'error' or 'record', not {moved!r}")
        self.matter: bool = moved != "ignore"
        self._refuses = moved == "error"
        self._known: dict[BatchDescriptor, tuple[Make, Inputs]] = {}

    def keep(self, descriptor: BatchDescriptor, make: Make, inputs: Inputs | None) -> None:
        """Store the recipe for a captured batch."""
        if self.matter and inputs is not None:
            self._known[descriptor] = make, inputs

    def forget(self, descriptor: BatchDescriptor) -> None:
        """Delete the recipe for a batch."""
        self._known.pop(descriptor, None)

    def anew(self, batch: CapturedBatch) -> tuple[Make, StaticInputs] | None:
        """Return the recipe for capturing a batch again; None if the batch's inputs have not moved."""
        descriptor = batch.descriptor
        if descriptor not in self._known:
            return None
        make, inputs = self._known[descriptor]
        now = inputs(descriptor)
        moved = batch.inputs.moved(now)
        if moved and self._refuses:
            raise InputError(
                f"{', '.join(moved)} of {descriptor} moved in memory after the capture, and the graph reads "
                "the old place; write into the tensors that were captured, or capture again"
            )
        return (make, StaticInputs(descriptor, now)) if moved else None
