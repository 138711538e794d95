"""A decoder that keeps the keys and values of full blocks in shared memory, and takes them from there."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import torch
from speculate.attention import Metadata, Planned
from speculate.model import LENGTH, Cache, Decoder

from sharing import blocks
from sharing.layout import HEADS, LAYERS, WIDTH
from sharing.store import Store

_GAIN = 10.0
_NUMBER = torch.float64


@dataclass(frozen=True)
class Outcome:
    """The decoded text, and the time and steps it took."""

    tokens: list[int]
    scores: str
    """A hash of every score that was computed for the next token, bit for bit."""
    computed: int
    """Tokens of the prompt that went through the model."""
    loaded: int
    """Tokens of the prompt whose keys and values came from memory."""
    stored: int
    """Blocks that were put into memory."""


class Engine:
    """One sequence at a time."""

    def __init__(self, model: Path | None = None, device: str = "cpu") -> None:
        # Such small matrices are computed sooner by one thread than shared by several.
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        self._decoder = _seeded() if model is None else _trained(model)
        self.model = _identity(self._decoder)
        self._device = torch.device(device)
        self._decoder.to(self._device)

    def generate(
        self,
        prompt: Sequence[int],
        count: int,
        store: Store | None = None,
        halfway: Callable[[int], None] | None = None,
    ) -> Outcome:
        """The likeliest continuation. `halfway` is called between the halves of each block that is stored."""
        if len(prompt) + count > LENGTH:
            raise ValueError(f"the cache holds {LENGTH} tokens")
        cache = self._decoder.new_cache(self._device)
        names = list(blocks.keys(self.model, prompt))
        loaded = 0 if store is None else self._load(store, cache, names, len(prompt))
        position, stored = loaded, 0
        while position < len(prompt):
            # One block at a time, whatever is in memory: the same sums in the same order give the same bits.
            end = min(position + blocks.TOKENS, len(prompt))
            scores = self._step(prompt[position:end], position, cache)
            if store is not None and end - position == blocks.TOKENS:
                stored += self._store(store, cache, names, position, halfway)
            position = end
        tokens, seen = [], blake2b(digest_size=16)
        for at in range(len(prompt), len(prompt) + count):
            seen.update(array("d", scores.tolist()))
            tokens.append(int(scores.argmax()))
            scores = self._step(tokens[-1:], at, cache)
        return Outcome(tokens, seen.hexdigest(), len(prompt) - loaded, loaded, stored)

    def _step(self, tokens: Sequence[int], start: int, cache: Cache) -> torch.Tensor:
        positions = torch.arange(start, start + len(tokens), device=self._device)
        batch = torch.tensor(tokens, device=self._device)
        features = self._decoder.step(batch, cache, Metadata(positions), Planned())
        return self._decoder.guess(features[-1])

    def _load(self, store: Store, cache: Cache, names: Sequence[bytes], length: int) -> int:
        """Fill the cache from the beginning, as far as memory goes; one token is left to be computed."""
        position = 0
        for name in names:
            end = position + blocks.TOKENS
            block = store.get(name) if end < length else None
            if block is None:
                break
            halves = torch.frombuffer(block, dtype=_NUMBER).view(
                2, LAYERS, blocks.TOKENS, HEADS, WIDTH // HEADS
            )
            cache.keys[:, position:end] = halves[0]
            cache.values[:, position:end] = halves[1]
            position = end
        return position

    def _store(
        self,
        store: Store,
        cache: Cache,
        names: Sequence[bytes],
        position: int,
        halfway: Callable[[int], None] | None,
    ) -> bool:
        number = position // blocks.TOKENS

        def fill(memory: memoryview) -> None:
            halves = torch.frombuffer(memory, dtype=_NUMBER).view(2, LAYERS, blocks.TOKENS, HEADS, -1)
            halves[0] = cache.keys[:, position : position + blocks.TOKENS]
            if halfway is not None:
                halfway(number)
            halves[1] = cache.values[:, position : position + blocks.TOKENS]

        return store.put(names[number], fill)


def _seeded(seed: int = 0) -> Decoder:
    """Weights from a seed: what it says is nonsense, and depends on all that was said before."""
    torch.manual_seed(seed)
    decoder: Decoder = Decoder(WIDTH, HEADS, LAYERS).to(_NUMBER)
    for block in decoder.blocks:
        for last in (block.join, block.network[-1]):
            last.weight.mul_(_GAIN)
    return decoder


def _trained(file: Path) -> Decoder:
    """The decoder that the example beside this one has trained."""
    from speculate.training import untrained

    decoder: Decoder = untrained().target.to(_NUMBER)
    decoder.load_state_dict(torch.load(file, weights_only=True)[0])
    return decoder


def _identity(decoder: torch.nn.Module) -> bytes:
    """Return what tells this model from every other: its weights."""
    seen = blake2b(digest_size=16)
    for name, weight in decoder.state_dict().items():
        seen.update(name.encode())
        seen.update(array("d", _numbers(weight)))
    return seen.digest()


def _numbers(weight: torch.Tensor) -> Iterable[float]:
    numbers: list[float] = weight.flatten().tolist()
    return numbers
