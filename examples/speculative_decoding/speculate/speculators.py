"""Who guesses the next tokens: the text itself, a smaller model, or a head on the model's own features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from coldfork.graphs import BatchDescriptor, GraphManager, Mode, Phase
from speculate.attention import Attention, Metadata
from speculate.model import FeatureHead
from speculate.runner import Check, Runner
from speculate.training import Models


class Speculator(Protocol):
    """Guesses what comes next."""

    @property
    def replays(self) -> int:
        """How many graphs were replayed for it."""
        ...

    def propose(self, context: Sequence[int], count: int) -> list[int]:
        """At most so many tokens after the context."""
        ...

    def saw(self, tokens: Sequence[int], start: int, features: torch.Tensor, padded: int) -> None:
        """The target ran these tokens from that position; each but the last was followed by the next one."""
        ...


class Nothing:
    """Guesses nothing: plain decoding."""

    replays = 0

    def propose(self, context: Sequence[int], count: int) -> list[int]:
        """None."""
        return []

    def saw(self, tokens: Sequence[int], start: int, features: torch.Tensor, padded: int) -> None:
        """Nothing to learn."""


class Ngram(Nothing):
    """Proposes what followed the last few tokens when they occurred before."""

    def propose(self, context: Sequence[int], count: int) -> list[int]:
        """The continuation of the latest earlier occurrence of the longest tail."""
        text = bytes(context)
        for length in (5, 4, 3, 2):
            found = text.rfind(text[-length:], 0, len(text) - 1)
            if len(text) > length and found >= 0:
                return list(text[found + length : found + length + count])
        return []


class Draft:
    """A smaller decoder with a cache and graphs of its own."""

    def __init__(self, models: Models, device: torch.device, attention: Attention, check: Check) -> None:
        self._runner = Runner(models.draft, device, attention, (1,), check)
        self._runner.capture()
        self._cached: list[int] = []

    @property
    def replays(self) -> int:
        """The draft's own."""
        return self._runner.replays

    def propose(self, context: Sequence[int], count: int) -> list[int]:
        """Run on from what it has in common with its cache."""
        known = 0
        while known < min(len(self._cached), len(context) - 1) and self._cached[known] == context[known]:
            known += 1
        new = list(context[known:])
        _, best = self._runner.run(new, known)
        self._cached = list(context)
        proposed = [best[-1]]
        while len(proposed) < count:
            _, best = self._runner.run(proposed[-1:], len(self._cached))
            self._cached.append(proposed[-1])
            proposed.append(best[-1])
        return proposed

    def saw(self, tokens: Sequence[int], start: int, features: torch.Tensor, padded: int) -> None:
        """It runs on tokens alone."""


class Eagle:
    """A head that guesses features; its prefill is captured on the target's own states."""

    def __init__(self, models: Models, target: Runner, attention: Attention, check: Check) -> None:
        self._models = models
        self._head: FeatureHead = models.head
        self._attention = attention
        self._target = target
        self._cache = models.head.new_cache(target.device)
        self.replays = 0
        largest = max(one.tokens for one in target.sizes)
        floats = {"dtype": torch.float64, "device": target.device}
        self._features = torch.zeros(largest, models.head.width, **floats)
        self._next = torch.zeros(largest, dtype=torch.int64, device=target.device)
        self._feature = torch.zeros(1, models.head.width, **floats)
        self._token = torch.zeros(1, dtype=torch.int64, device=target.device)
        self._place = torch.zeros(1, dtype=torch.int64, device=target.device)
        kept = [self._cache.keys, self._cache.values]
        self._prefill = GraphManager(target.device, check=check, persistent=kept)
        self._prefill.capture(
            self._create_prefill, target.sizes, inputs=self._prefill_inputs, states=target.states
        )
        self._step = GraphManager(target.device, check=check, persistent=kept)
        self._one = BatchDescriptor(Mode.FULL, 1)
        self._step.capture(self._create_step, [self._one], inputs=self._step_inputs)
        self._guess: tuple[torch.Tensor, int, int] | None = None

    def saw(self, tokens: Sequence[int], start: int, features: torch.Tensor, padded: int) -> None:
        """Guess the feature after the last token, from those of the target's run."""
        pairs = len(tokens) - 1
        positions = torch.arange(start, start + pairs, device=self._target.device)
        following = torch.tensor(tokens[1:], device=self._target.device)
        if padded:
            # The target's graph has just run on this batch, so that its metadata is this batch's.
            wide = torch.zeros(padded, features.shape[1], dtype=torch.float64, device=features.device)
            wide[: len(features)] = features
            more = torch.zeros(padded, dtype=torch.int64, device=features.device)
            more[:pairs] = following
            batch = BatchDescriptor(Mode.FULL, padded)
            guessed, best = self._prefill.replay(batch, features=wide, following=more)
            self.replays += 1
        else:
            guessed, best = self._forward(features[:pairs], following, Metadata(positions))
        self._guess = guessed[pairs - 1 : pairs].clone(), int(best[pairs - 1]), start + pairs

    def propose(self, context: Sequence[int], count: int) -> list[int]:
        """Guess features from guessed features."""
        if self._guess is None:
            return []
        feature, token, place = self._guess
        proposed = [token]
        while len(proposed) < count:
            guessed, best = self._step.replay(
                self._one,
                feature=feature,
                token=torch.tensor([proposed[-1]], device=feature.device),
                place=torch.tensor([place], device=feature.device),
            )
            self.replays += 1
            feature, place = guessed.clone(), place + 1
            proposed.append(int(best[0]))
        return proposed

    def _forward(
        self, features: torch.Tensor, following: torch.Tensor, metadata: Metadata
    ) -> tuple[torch.Tensor, torch.Tensor]:
        target = self._models.target
        guessed = self._head.step(features, target.embed(following), self._cache, metadata, self._attention)
        return guessed, target.guess(guessed).argmax(-1)

    def _create_prefill(
        self, descriptor: BatchDescriptor, phase: Phase, state: Metadata
    ) -> tuple[Callable[[Mode], Any], Metadata]:
        size = descriptor.tokens
        return (lambda mode: self._forward(self._features[:size], self._next[:size], state)), state

    def _prefill_inputs(self, descriptor: BatchDescriptor) -> dict[str, torch.Tensor]:
        size = descriptor.tokens
        return {"features": self._features[:size], "following": self._next[:size]}

    def _create_step(
        self, descriptor: BatchDescriptor, phase: Phase
    ) -> tuple[Callable[[Mode], Any], Metadata]:
        metadata = Metadata(self._place)
        return (lambda mode: self._forward(self._feature, self._token, metadata)), metadata

    def _step_inputs(self, descriptor: BatchDescriptor) -> dict[str, torch.Tensor]:
        return {"feature": self._feature, "token": self._token, "place": self._place}
