"""The input tensors of captured graphs, which may move, and the state of the running forward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from coldfork.graphs.descriptors import BatchDescriptor, Forward, Phase
from coldfork.graphs.errors import GraphError, InputError


class StaticInputs:
    """The input buffers of one captured batch."""

    __slots__ = ("_buffers", "_descriptor")

    def __init__(self, descriptor: BatchDescriptor, buffers: Mapping[str, Any]) -> None:
        self._descriptor = descriptor
        self._buffers = {
            name: (tensor, tensor.shape, tensor.dtype, tensor.device) for name, tensor in buffers.items()
        }

    def fill(self, given: Mapping[str, Any]) -> None:
        """Copy the given tensors into the buffers; if one does not fit, raise an error before copying any."""
        buffers = self._buffers
        for name, tensor in given.items():
            known = buffers.get(name)
            if (
                known is None
                or tensor.shape != known[1]
                or tensor.dtype != known[2]
                or tensor.device != known[3]
            ):
                self._refuse(name, tensor)
        for name, tensor in given.items():
            buffer = buffers[name][0]
            if buffer is not tensor:
                # An input whose gradient is computed is a leaf, which autograd lets nobody write.
                buffer = buffer.detach() if buffer.requires_grad else buffer
                buffer.copy_(tensor.detach() if tensor.requires_grad else tensor)

    def moved(self, now: Mapping[str, Any]) -> list[str]:
        """Return the names of inputs that have moved in memory since the capture."""
        return [
            name
            for name, (tensor, *_) in self._buffers.items()
            if name not in now or now[name].data_ptr() != tensor.data_ptr()
        ]

    def as_mapping(self) -> dict[str, Any]:
        """Return the buffers by name, for the caller to write in place."""
        return {name: buffer[0] for name, buffer in self._buffers.items()}

    def _refuse(self, name: str, tensor: Any) -> None:
        known = self._buffers.get(name)
        if known is None:
            names = ", ".join(sorted(self._buffers)) or "none"
            raise InputError(
                f"{self._descriptor} was captured without an input {name!r}; its inputs: {names} "
                "(capture(inputs=...) declares them)"
            )
        _, shape, dtype, device = known
        raise InputError(
            f"input {name!r} of {self._descriptor} was captured as {tuple(shape)} of {dtype} on {device}, "
            f"and this one is {tuple(tensor.shape)} of {tensor.dtype} on {tensor.device}"
        )


Make = Callable[[BatchDescriptor, Phase], tuple[Forward, Any]]
"""Makes the forward function of a batch for a phase, and its state."""
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

    def anew(self, descriptor: BatchDescriptor, captured: StaticInputs) -> tuple[Make, StaticInputs] | None:
        """Return the recipe for capturing a batch again; None if its inputs have not moved."""
        if descriptor not in self._known:
            return None
        make, inputs = self._known[descriptor]
        now = inputs(descriptor)
        moved = captured.moved(now)
        if moved and self._refuses:
            raise InputError(
                f"{', '.join(moved)} of {descriptor} moved in memory after the capture, and the graph reads "
                "the old place; write into the tensors that were captured, or capture again"
            )
        return (make, StaticInputs(descriptor, now)) if moved else None


_STATE: ContextVar[tuple[Any] | None] = ContextVar("coldfork_step_state", default=None)


def current_state() -> Any:
    """Return the state of the running forward pass.

    In a warm-up or capture this is the state that `create_forward` made. In a replay in pieces it is the
    state passed to `replay(..., state=)`, so the code between the pieces sees the metadata of this step.
    """
    running = _STATE.get()
    if running is None:
        raise GraphError("no forward pass of a graph manager is running here, so there is no state")
    return running[0]


@contextmanager
def running_with(state: Any) -> Iterator[None]:
    """Within the block, let `current_state` return this state."""
    token = _STATE.set((state,))
    try:
        yield
    finally:
        _STATE.reset(token)
