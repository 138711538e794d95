"""Starts the broken engine, whose workers are forked after an import has woken the device."""

from __future__ import annotations

from broken_engine import EngineConfig, launch

if __name__ == "__main__":
    launch(EngineConfig("tiny"))
