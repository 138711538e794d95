"""Graphs are torch's: without it there is nothing here to collect."""

from __future__ import annotations

import gc
from importlib.util import find_spec
from pathlib import Path

import pytest

COMPILING = Path(__file__).with_name("test_compiled.py")

collect_ignore_glob = [] if find_spec("torch") is not None else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let those that compile with torch come last: in a process that has, a check takes twice as long."""
    items.sort(key=lambda item: item.path == COMPILING)


@pytest.fixture(autouse=True)
def only_its_own_objects() -> None:
    """Let a check, which looks at every object in each of its copies, pass over those of earlier tests."""
    gc.collect()
    gc.freeze()
