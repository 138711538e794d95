"""The settings of a user."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EngineConfig:
    """How many workers to start, and what each of them serves."""

    model: str
    workers: int = 2
    block_size: int = 16
