"""A small inference engine that breaks the moment it forks a worker. `coldfork check` names the line."""

from __future__ import annotations

from broken_engine.config import EngineConfig
from broken_engine.launcher import launch

__all__ = ["EngineConfig", "launch"]
