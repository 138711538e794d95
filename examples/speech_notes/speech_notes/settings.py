"""The settings of the service, from its command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be chosen."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 8137
    engine: str = "embedded"
    model: str | None = None
    devices: str | None = None
    launch: str = "pool"
    awake: str | None = None
    workers: int = 1
    timeout: float = 600.0
    most_bytes: int = 200_000
    most_queued: int = 100
    keep: int = 1000

    @property
    def virtual(self) -> str | None:
        """The virtual device that the engine is to claim; vLLM finds its devices itself, real ones."""
        return None if self.engine == "vllm" else self.awake
