"""Greedy decoding with speculation: guess some tokens, let the target look at all of them in one pass."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import torch

from speculate import attention, training
from speculate.runner import Check, Runner
from speculate.speculators import Draft, Eagle, Ngram, Nothing, Speculator

METHODS = ("none", "ngram", "draft", "eagle")
GUESSES = 4
MODELS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "coldfork-example" / "pieces.pt"


@dataclass(frozen=True)
class Config:
    """The settings of a worker."""

    method: str = "ngram"
    device: str = "cpu"
    backend: str = "planned"
    check: Check = "error"
    check_target: bool = True
    """Whether the target's graphs are checked too; they are the same for all methods."""
    model: Path = MODELS
    steps: int = 350


@dataclass(frozen=True)
class Outcome:
    """The decoded text, and the time and steps it took."""

    tokens: list[int]
    proposed: int
    accepted: int
    forwards: int
    """Passes of the target."""
    replays: int
    """Graphs replayed, the speculator's too."""


class Engine:
    """One sequence at a time."""

    def __init__(self, config: Config) -> None:
        device = torch.device(config.device)
        # Such small matrices are computed sooner by one thread than shared by several.
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)
        with torch.enable_grad():
            models = training.load(config.model, config.steps)
        models = models.to(device)
        # Which backend it is, is decided here: in the worker, and not when something is imported.
        chosen = attention.choose(config.backend)
        check = config.check if config.check_target else "off"
        self._target = Runner(models.target, device, chosen, (1, 1 + GUESSES), check)
        self._target.capture()
        self._speculator: Speculator
        if config.method == "draft":
            self._speculator = Draft(models, device, attention.choose(config.backend), config.check)
        elif config.method == "eagle":
            self._speculator = Eagle(models, self._target, chosen, config.check)
        else:
            self._speculator = Ngram() if config.method == "ngram" else Nothing()

    def generate(self, prompt: list[int], count: int) -> Outcome:
        """The likeliest continuation, token by token."""
        self._target.forwards = self._target.replays = 0
        before = self._speculator.replays
        features, best = self._target.run(prompt, 0)
        context = [*prompt, best[-1]]
        self._speculator.saw(context, 0, features, padded=0)
        proposed = accepted = 0
        while len(context) < len(prompt) + count:
            guesses = self._speculator.propose(context, GUESSES)
            start = len(context) - 1
            features, best = self._target.run([context[-1], *guesses], start)
            right = 0
            while right < len(guesses) and guesses[right] == best[right]:
                right += 1
            context += best[: right + 1]
            proposed, accepted = proposed + len(guesses), accepted + right
            padded = 1 if not guesses else 1 + GUESSES
            self._speculator.saw(context[start:], start, features, padded)
        replays = self._target.replays + self._speculator.replays - before
        tokens = context[len(prompt) :][:count]
        return Outcome(tokens, proposed, accepted, self._target.forwards, replays)
