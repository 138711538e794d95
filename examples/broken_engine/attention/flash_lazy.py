"""The same backend, mended: the device is asked on first use, in the process that uses it."""

from __future__ import annotations

from functools import cached_property

from broken_engine.attention.base import AttentionBackend
from broken_engine.attention.versions import flash_version


class LazyFlashBackend(AttentionBackend):
    """Chooses its kernel when a worker needs it."""

    @cached_property
    def version(self) -> int:
        """Generation of the kernels; asked once for each process."""
        return flash_version()

    @property
    def captures_graphs(self) -> bool:
        """Whether the kernels may be captured into a CUDA graph."""
        return self.version == 3

    def kernel(self) -> str:
        return f"flash_fwd_v{self.version}"
