"""The interface of every attention backend. Importing this module touches no device."""

from __future__ import annotations

from abc import ABC, abstractmethod


class AttentionBackend(ABC):
    """One way of computing attention."""

    block_sizes: tuple[int, ...] = (16, 32)

    @abstractmethod
    def kernel(self) -> str:
        """The name of the kernel to launch."""
