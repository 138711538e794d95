"""The broken backend: a class body is executed by whoever imports the module."""

from __future__ import annotations

from broken_engine.attention.base import AttentionBackend
from broken_engine.attention.versions import flash_version


class FlashBackend(AttentionBackend):
    """Chooses its kernel while Python is still importing it."""

    if flash_version() == 3:
        block_sizes = (16, 32, 64)
        captures_graphs = True
    else:
        block_sizes = (16, 32)
        captures_graphs = False

    def kernel(self) -> str:
        return f"flash_fwd_v{flash_version()}"
