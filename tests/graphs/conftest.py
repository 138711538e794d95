"""Graphs are torch's: without it there is nothing here to collect."""

from __future__ import annotations

import gc
from importlib.util import find_spec
from pathlib import Path

import pytest

COMPILING = Path(__file__).with_name("test_compiled.py")

collect_ignore_glob = [] if find_spec("torch") is not None else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let these tests come first, while little is loaded, and those that compile with torch come last.

    A check copies its process about ten times, with all that other tests have loaded into it: in a process of
    three times the size it takes three times as long, and in one that has compiled, twice as long.
    """
    here = COMPILING.parent
    items.sort(key=lambda item: 2 if item.path == COMPILING else int(here not in item.path.parents))


@pytest.fixture(autouse=True)
def only_its_own_objects() -> None:
    """Let a check, which looks at every object in each of its copies, pass over those of earlier tests."""
    gc.collect()
    gc.freeze()
