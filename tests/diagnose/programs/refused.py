"""Forks under coldfork's guard while the device is awake."""

from __future__ import annotations

import multiprocessing

import coldfork

if __name__ == "__main__":
    coldfork.guard("raise")
    from broken_engine import EngineConfig

    multiprocessing.get_context("fork").Process(target=print, args=(EngineConfig,)).start()
