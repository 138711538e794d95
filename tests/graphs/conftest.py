"""Graphs are torch's: without it there is nothing here to collect."""

from __future__ import annotations

import gc
from importlib.util import find_spec

import pytest

collect_ignore_glob = [] if find_spec("torch") is not None else ["test_*.py"]


@pytest.fixture(autouse=True)
def only_its_own_objects() -> None:
    """Let a check, which looks at every object in each of its copies, pass over those of earlier tests."""
    gc.collect()
    gc.freeze()
