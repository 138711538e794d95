"""A decoder behind graphs: static buffers, a graph for each batch size, and the sizes between them padded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import torch

from coldfork.graphs import BatchDescriptor, GraphManager, Mode, Phase, StatePair
from speculate.attention import Attention, Metadata
from speculate.model import LENGTH, Decoder

Check = Literal["error", "warn", "off"]


class Runner:
    """Runs some tokens of one sequence at a time."""

    def __init__(
        self, decoder: Decoder, device: torch.device, attention: Attention, sizes: Sequence[int], check: Check
    ) -> None:
        self.decoder = decoder
        self.device = device
        self.attention = attention
        self.cache = decoder.new_cache(device)
        largest = max(sizes)
        self.tokens = torch.zeros(largest, dtype=torch.int64, device=device)
        self.positions = torch.arange(largest, device=device)
        kept = [self.cache.keys, self.cache.values]
        self.manager = GraphManager(device, check=check, persistent=kept)
        self.sizes = [BatchDescriptor(Mode.FULL, size) for size in sizes]
        self.states: Mapping[BatchDescriptor, StatePair] = {}
        self.forwards = self.replays = 0

    def capture(self) -> None:
        """Capture a graph for each size."""
        self.states = self.manager.capture(self.create, self.sizes, inputs=self.inputs)

    def inputs(self, descriptor: BatchDescriptor) -> dict[str, torch.Tensor]:
        """Return the inputs of a replay."""
        size = descriptor.tokens
        return {"tokens": self.tokens[:size], "positions": self.positions[:size]}

    def create(self, descriptor: BatchDescriptor, phase: Phase) -> tuple[Callable[[Mode], Any], Metadata]:
        """Metadata for each phase, and a pass over the buffers."""
        size = descriptor.tokens
        metadata = Metadata(self.positions[:size])
        return (lambda mode: self._forward(self.tokens[:size], metadata)), metadata

    def run(self, tokens: Sequence[int], start: int) -> tuple[torch.Tensor, list[int]]:
        """Features of these tokens, and the likeliest token after each; from position `start` on."""
        self.forwards += 1
        count = len(tokens)
        if start + max(count, self.tokens.numel()) > LENGTH:
            raise ValueError(f"the cache holds {LENGTH} tokens")
        captured = self.manager.dispatch(BatchDescriptor(Mode.FULL, count))
        if captured is None:
            positions = torch.arange(start, start + count, device=self.device)
            features, best = self._forward(torch.tensor(tokens, device=self.device), Metadata(positions))
        else:
            # What pads a batch lands in slots that are written again before anything looks there.
            padded = [*tokens, *[0] * (captured.tokens - count)]
            features, best = self.manager.replay(
                captured,
                tokens=torch.tensor(padded, device=self.device),
                positions=torch.arange(start, start + captured.tokens, device=self.device),
            )
            self.replays += 1
        return features[:count], best[:count].tolist()

    def _forward(self, tokens: torch.Tensor, metadata: Metadata) -> tuple[torch.Tensor, torch.Tensor]:
        features = self.decoder.step(tokens, self.cache, metadata, self.attention)
        return features, self.decoder.guess(features).argmax(-1)
