"""A decoder over pieces of words, and the head that guesses its next feature."""

from __future__ import annotations

import math

import torch
from torch import nn

from speculate.attention import Attention, Metadata, attend
from speculate.text import VOCABULARY

LENGTH = 512
"""The cache holds so many tokens."""


class Cache(nn.Module):
    """Keys and values of all layers, one slot for each position."""

    def __init__(self, layers: int, heads: int, width: int, device: torch.device) -> None:
        super().__init__()
        shape = (layers, LENGTH, heads, width)
        self.keys = torch.zeros(shape, dtype=torch.float64, device=device)
        self.values = torch.zeros(shape, dtype=torch.float64, device=device)
        self.slots = torch.arange(LENGTH, device=device)


class Block(nn.Module):
    """Attention and a two-layer network, each added to what came in."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(width)
        self.project = nn.Linear(width, 3 * width)
        self.join = nn.Linear(width, width)
        self.network = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def parts(self, x: torch.Tensor) -> list[torch.Tensor]:
        """Query, key and value of each head."""
        return [
            part.unflatten(-1, (self.heads, -1)) for part in self.project(self.before(x)).chunk(3, dim=-1)
        ]

    def finish(self, x: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
        """Everything after attention."""
        x = x + self.join(attended.flatten(-2))
        return x + self.network(x)

    def learn(self, x: torch.Tensor) -> torch.Tensor:
        """A batch of whole sequences, for training."""
        query, key, value = (part.transpose(1, 2) for part in self.parts(x))
        attended = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.finish(x, attended.transpose(1, 2))

    def step(
        self, x: torch.Tensor, cache: Cache, layer: int, metadata: Metadata, attention: Attention
    ) -> torch.Tensor:
        """Some tokens of one sequence, with what came before them in the cache."""
        query, key, value = self.parts(x)
        cache.keys[layer].index_copy_(0, metadata.positions, key)
        cache.values[layer].index_copy_(0, metadata.positions, value)
        mask = attention.plan(metadata, cache.slots)
        return self.finish(x, attend(query, cache.keys[layer], cache.values[layer], mask))


def _waves(width: int) -> torch.Tensor:
    """A row for each position: waves from 4 to 1024 tokens long."""
    lengths = 4.0 * 2.0 ** torch.linspace(0, 8, width // 2)
    angles = torch.arange(LENGTH)[:, None] * (2 * math.pi / lengths)
    return 0.3 * torch.cat([angles.sin(), angles.cos()], 1)


class Decoder(nn.Module):
    """Tokens in, features and the next token out."""

    places: torch.Tensor

    def __init__(self, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.width, self.heads = width, heads
        self.embed = nn.Embedding(VOCABULARY, width)
        # It scores tokens too: with torch's far larger numbers, learning would take many times as long.
        nn.init.normal_(self.embed.weight, std=0.1)
        self.register_buffer("places", _waves(width), persistent=False)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def new_cache(self, device: torch.device) -> Cache:
        """An empty cache for one sequence."""
        return Cache(len(self.blocks), self.heads, self.width // self.heads, device)

    def guess(self, features: torch.Tensor) -> torch.Tensor:
        """Scores of the next token."""
        return self.norm(features) @ self.embed.weight.t()

    def learn(self, tokens: torch.Tensor) -> torch.Tensor:
        """Features of whole sequences, for training; each begins anywhere, so that every place is learnt."""
        starts = torch.randint(LENGTH + 1 - tokens.shape[1], (len(tokens), 1), device=tokens.device)
        places = starts + torch.arange(tokens.shape[1], device=tokens.device)
        x = self.embed(tokens) + self.places[places]
        for block in self.blocks:
            x = block.learn(x)
        return x

    def step(
        self, tokens: torch.Tensor, cache: Cache, metadata: Metadata, attention: Attention
    ) -> torch.Tensor:
        """Features of some tokens of one sequence."""
        x = self.embed(tokens) + self.places[metadata.positions]
        for layer, block in enumerate(self.blocks):
            x = block.step(x, cache, layer, metadata, attention)
        return x


class FeatureHead(nn.Module):
    """Guesses a decoder's next feature from its last one and the token that followed, as EAGLE does."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.width, self.heads = width, heads
        self.fuse = nn.Linear(2 * width, width)
        self.block = Block(width, heads)

    def new_cache(self, device: torch.device) -> Cache:
        """An empty cache for one sequence."""
        return Cache(1, self.heads, self.width // self.heads, device)

    def learn(self, features: torch.Tensor, embedded: torch.Tensor) -> torch.Tensor:
        """Whole sequences, for training."""
        return self.block.learn(self.fuse(torch.cat([features, embedded], -1)))

    def step(
        self,
        features: torch.Tensor,
        embedded: torch.Tensor,
        cache: Cache,
        metadata: Metadata,
        attention: Attention,
    ) -> torch.Tensor:
        """Some tokens of one sequence."""
        x = self.fuse(torch.cat([features, embedded], -1))
        return self.block.step(x, cache, 0, metadata, attention)
