"""The code that runs in each worker process."""

from __future__ import annotations

from broken_engine.attention import AttentionBackend, FlashBackend
from broken_engine.config import EngineConfig


def serve(config: EngineConfig, rank: int) -> None:
    """Answer requests until the launcher says stop."""
    backend: AttentionBackend = FlashBackend()
    print(f"worker {rank} serves {config.model} with {backend.kernel()}")
