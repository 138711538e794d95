"""A small engine with a lazily planned attention backend, as vLLM's were when their graphs went wrong."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from coldfork.graphs import BatchDescriptor, Mode, Phase

torch: Any = pytest.importorskip("torch")

TOKENS = 6
FULL = BatchDescriptor(Mode.FULL, TOKENS)


class TileScheduler:
    """How the kernel splits its work; planned by the first layer that runs."""

    def __init__(self) -> None:
        self.initialised = False
        self.plan: Any = None


class Metadata:
    """The facts about a batch that attention needs."""

    def __init__(self, lengths: Any) -> None:
        self.lengths = lengths
        self.tile_scheduler = TileScheduler()


class State(NamedTuple):
    """The state of one forward pass."""

    attn_metadata: dict[str, Metadata]


class Engine:
    """Two layers of attention over a batch of sequences, with buffers that live as long as it does."""

    def __init__(self) -> None:
        self.x = torch.zeros(TOKENS)
        self.lengths = torch.ones(TOKENS)
        self.scratch = torch.zeros(TOKENS)

    def build(self) -> State:
        """Metadata for the batch that is in the buffers now."""
        metadata = Metadata(self.lengths)
        return State({"layer.0": metadata, "layer.1": metadata})

    def attend(self, hidden: Any, metadata: Metadata) -> Any:
        """Plan on first use, then compute."""
        tiles = metadata.tile_scheduler
        if not tiles.initialised:
            tiles.plan = torch.cumsum(metadata.lengths, 0, out=self.scratch)
            tiles.initialised = True
        return hidden * 2 + tiles.plan

    def forward(self, state: State) -> Any:
        """Run the layers on what the buffers hold."""
        hidden = self.x + 1
        for metadata in state.attn_metadata.values():
            hidden = self.attend(hidden, metadata)
        return hidden

    def eager(self, x: Any, lengths: Any) -> Any:
        """Return the result of a step without graphs."""
        self.x.copy_(x)
        self.lengths.copy_(lengths)
        return self.forward(self.build()).clone()

    def use_scratch_otherwise(self) -> None:
        """Other kernels of an engine use the same scratch memory between two steps."""
        self.scratch.fill_(float("nan"))

    def inputs(self, descriptor: BatchDescriptor) -> dict[str, Any]:
        """Return the inputs of a replay."""
        return {"x": self.x, "lengths": self.lengths}

    def create(self, descriptor: BatchDescriptor, phase: Phase) -> tuple[Callable[[Mode], Any], State]:
        """The right way: state for each phase."""
        state = self.build()
        return (lambda mode: self.forward(state)), state

    def create_once(self) -> Callable[[BatchDescriptor, Phase], tuple[Callable[[Mode], Any], State]]:
        """The mistake: one state for both phases."""
        state = self.build()

        def create(descriptor: BatchDescriptor, phase: Phase) -> tuple[Callable[[Mode], Any], State]:
            return (lambda mode: self.forward(state)), state

        return create


class Speculator:
    """Drafts on the target's metadata, with one layer of its own."""

    def __init__(self, target: Engine) -> None:
        self.target = target

    def create(
        self, descriptor: BatchDescriptor, phase: Phase, state: State
    ) -> tuple[Callable[[Mode], Any], State]:
        """A prefill on the state that the target made for this phase."""

        def forward(mode: Mode) -> Any:
            return self.target.attend(self.target.x - 1, state.attn_metadata["layer.1"])

        return forward, state


def batch(seed: int) -> tuple[Any, Any]:
    """Some tokens and lengths."""
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.rand(TOKENS, generator=generator),
        torch.randint(1, 9, (TOKENS,), generator=generator).float(),
    )


def line_of(function: Callable[..., Any], text: str) -> int:
    """The number of the line of a function that holds a text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)
