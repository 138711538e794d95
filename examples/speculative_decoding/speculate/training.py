"""Trains the three models, and keeps them in a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from speculate.model import Decoder, FeatureHead
from speculate.text import corpus, encode

WINDOW, BATCH = 48, 12
RATE = 1e-2


@dataclass(frozen=True)
class Models:
    """The models that decoding needs."""

    target: Decoder
    draft: Decoder
    head: FeatureHead

    def each(self) -> tuple[torch.nn.Module, ...]:
        """The three of them, in the order in which they are kept in a file."""
        return self.target, self.draft, self.head

    def to(self, device: torch.device) -> Models:
        """In double precision: the same sum in another order must not change which token is likeliest."""
        for one in self.each():
            one.to(device, torch.float64).requires_grad_(False)
        return self


def untrained() -> Models:
    """The right shapes."""
    return Models(Decoder(64, 2, 2), Decoder(32, 2, 1), FeatureHead(64, 2))


def train(steps: int, seed: int = 0) -> Models:
    """Models that know the corpus a little; the more steps, the better."""
    torch.manual_seed(seed)
    models = untrained()
    data = torch.tensor(encode(corpus()))
    for decoder in (models.target, models.draft):
        _train_decoder(decoder, data, steps)
    _train_head(models, data, steps)
    return models


def load(file: Path, steps: int) -> Models:
    """The models of a file, trained first if it is not there."""
    models = untrained()
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        trained = train(steps)
        torch.save([one.state_dict() for one in trained.each()], file)
    states = torch.load(file, weights_only=True)
    for one, state in zip(models.each(), states, strict=True):
        one.load_state_dict(state)
    return models


def _windows(data: torch.Tensor, length: int) -> torch.Tensor:
    starts = torch.randint(0, len(data) - length, (BATCH,))
    return torch.stack([data[start : start + length] for start in starts.tolist()])


def _learning(
    model: nn.Module, steps: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.OneCycleLR]:
    optimizer = torch.optim.AdamW(model.parameters(), RATE)
    return optimizer, torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)


def _train_decoder(decoder: Decoder, data: torch.Tensor, steps: int) -> None:
    optimizer, schedule = _learning(decoder, steps)
    for _ in range(steps):
        window = _windows(data, WINDOW + 1)
        scores = decoder.guess(decoder.learn(window[:, :-1]))
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), window[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


def _train_head(models: Models, data: torch.Tensor, steps: int) -> None:
    target, head = models.target, models.head
    optimizer, schedule = _learning(head, steps)
    for _ in range(steps):
        window = _windows(data, WINDOW + 2)
        with torch.no_grad():
            features = target.learn(window[:, :-1])
        guessed = head.learn(features[:, :-1], target.embed(window[:, 1:-1]).detach())
        scores = target.guess(guessed)
        loss = nn.functional.smooth_l1_loss(guessed, features[:, 1:])
        loss = loss + nn.functional.cross_entropy(scores.flatten(0, 1), window[:, 2:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
