"""Attention backends: chosen by name when the first one is needed, and planned when the first layer runs."""

from __future__ import annotations

import math
from typing import Protocol

import torch


class Metadata:
    """The facts about one batch that attention needs; made anew for each state."""

    def __init__(self, positions: torch.Tensor) -> None:
        self.positions = positions
        self.mask: torch.Tensor | None = None


class Attention(Protocol):
    """Lets each token look at the cache."""

    def plan(self, metadata: Metadata, slots: torch.Tensor) -> torch.Tensor:
        """Which slots of the cache each token may see: 0 where it may, minus infinity where not."""
        ...


class Planned:
    """Right: the plan belongs to the state, so that a graph's own state has it computed in the graph."""

    def plan(self, metadata: Metadata, slots: torch.Tensor) -> torch.Tensor:
        """Computed by the first layer, used by the others."""
        if metadata.mask is None:
            metadata.mask = _mask(metadata.positions, slots)
        return metadata.mask


class Remembered:
    """Broken: the plan is kept for each batch size, and outlives the state for which it was made.

    The warm-up run computes it, the captured run finds it, and no graph contains its computation.
    """

    def __init__(self) -> None:
        self.masks: dict[int, torch.Tensor] = {}

    def plan(self, metadata: Metadata, slots: torch.Tensor) -> torch.Tensor:
        """Computed when a batch of this size comes first."""
        size = len(metadata.positions)
        if size not in self.masks:
            self.masks[size] = _mask(metadata.positions, slots)
        return self.masks[size]


def choose(name: str) -> Attention:
    """A backend by name; nothing is chosen, imported or asked before a worker calls this."""
    backends: dict[str, type[Attention]] = {"planned": Planned, "remembered": Remembered}
    return backends[name]()


def attend(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Tokens by heads by width in, the same out; keys and values are the whole cache."""
    scores = torch.einsum("thd,shd->hts", query, keys) / math.sqrt(query.shape[-1])
    return torch.einsum("hts,shd->thd", (scores + mask).softmax(-1), values)


def _mask(positions: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
    hidden = slots[None, :] > positions[:, None]
    return torch.zeros(hidden.shape, dtype=torch.float64, device=slots.device).masked_fill(hidden, -math.inf)
