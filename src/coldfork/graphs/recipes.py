"""How batches were captured, for those whose inputs have moved to other memory since."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from coldfork.graphs.batches import CapturedBatch, Make
from coldfork.graphs.descriptors import BatchDescriptor
from coldfork.graphs.errors import InputError
from coldfork.graphs.passes import StaticInputs

Inputs = Callable[[BatchDescriptor], Mapping[str, Any]]
"""Gives the tensors through which the graph of a batch is fed."""
Moved = Literal["ignore", "error", "record"]
"""What a replay does where these tensors lie elsewhere by now."""


class Recipes:
    """What each batch was made with, where that matters."""

    def __init__(self, moved: Moved) -> None:
        if moved not in ("ignore", "error", "record"):
            raise ValueError(f"moved is 'ignore', 'error' or 'record', not {moved!r}")
        self.matter: bool = moved != "ignore"
        self._refuses = moved == "error"
        self._known: dict[BatchDescriptor, tuple[Make, Inputs]] = {}

    def keep(self, descriptor: BatchDescriptor, make: Make, inputs: Inputs | None) -> None:
        """Remember how a batch was captured."""
        if self.matter and inputs is not None:
            self._known[descriptor] = make, inputs

    def forget(self, descriptor: BatchDescriptor) -> None:
        """The batch is given up."""
        self._known.pop(descriptor, None)

    def anew(self, batch: CapturedBatch) -> tuple[Make, StaticInputs] | None:
        """What to capture a batch with again, or None where everything lies where it did."""
        descriptor = batch.descriptor
        if descriptor not in self._known:
            return None
        make, inputs = self._known[descriptor]
        now = inputs(descriptor)
        moved = batch.inputs.moved(now)
        if moved and self._refuses:
            raise InputError(
                f"{', '.join(moved)} of {descriptor} lie elsewhere than when it was captured, and the graph "
                "reads the old place; write into the tensors that were captured, or capture anew"
            )
        return (make, StaticInputs(descriptor, now)) if moved else None
