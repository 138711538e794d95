"""Attention backends. The short names below are convenient, and whoever asks for one of them pays for all."""

from __future__ import annotations

from broken_engine.attention.base import AttentionBackend
from broken_engine.attention.flash import FlashBackend
from broken_engine.attention.flash_lazy import LazyFlashBackend

__all__ = ["AttentionBackend", "FlashBackend", "LazyFlashBackend"]
