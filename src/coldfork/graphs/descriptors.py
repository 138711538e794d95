"""What a graph is captured for: the shape of a batch, the mode, and the state that belongs to each phase."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, Protocol


class Mode(Enum):
    """How much of a forward pass lies in a graph."""

    NONE = "none"
    """Nothing: it runs eagerly."""
    PIECEWISE = "piecewise"
    """The parts given to `GraphManager.piece`; what lies between them runs eagerly."""
    FULL = "full"
    """All of it, in one graph."""


class Phase(Enum):
    """Why a forward function is being made."""

    WARMUP = "warmup"
    """To be run eagerly once, so that everything that initialises itself on first use has done so."""
    CAPTURE = "capture"
    """To be captured; nothing that the warm-up initialised may be taken for granted."""


@dataclass(frozen=True)
class BatchDescriptor:
    """The batch that a graph is captured for; derive from it to tell more batches apart."""

    mode: Mode
    tokens: int
    """How many tokens the graph computes; a smaller batch is padded to it."""
    requests: int | None = None
    """How many requests the batch holds, where the graph depends on it."""
    uniform_tokens: int | None = None
    """How many tokens each request has, where it is the same for all."""

    def covers(self, wanted: BatchDescriptor) -> bool:
        """True when a batch like `wanted` can be padded to this one."""
        if type(self) is not type(wanted) or self.tokens < wanted.tokens:
            return False
        if self.requests is not None and (wanted.requests is None or self.requests < wanted.requests):
            return False
        return all(
            getattr(self, field.name) == getattr(wanted, field.name)
            for field in fields(self)
            if field.name not in ("tokens", "requests")
        )

    @property
    def size(self) -> tuple[int, int]:
        """What makes a graph large: tokens first."""
        return self.tokens, self.requests or 0

    def __str__(self) -> str:
        fields_set = [f"{field.name}={getattr(self, field.name)}" for field in fields(self)[1:]]
        return " ".join([self.mode.name, *(text for text in fields_set if not text.endswith("=None"))])


@dataclass(frozen=True, slots=True)
class StatePair:
    """The state that was made for warming up, and the one that was captured; never the same object."""

    warmup: Any
    capture: Any

    def of(self, phase: Phase) -> Any:
        """The one of a phase."""
        return self.warmup if phase is Phase.WARMUP else self.capture


Forward = Callable[[Mode], Any]
"""Runs a forward pass on the buffers it was made for; the mode says what is being captured around it."""


class CreateForward(Protocol):
    """Makes a forward function and the state it uses, anew for each phase."""

    def __call__(self, descriptor: BatchDescriptor, phase: Phase, /) -> tuple[Forward, Any]:
        """Build state for this batch and phase, and a function that runs it."""


class CreateForwardOn(Protocol):
    """Makes a forward function that works on another manager's state, given to it for each phase."""

    def __call__(self, descriptor: BatchDescriptor, phase: Phase, state: Any, /) -> tuple[Forward, Any]:
        """Make the function; `state` is the other manager's for the same batch and phase."""
