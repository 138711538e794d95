"""Drawn trees of processes that use a device, or must not: nothing that a recording says of one is false."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.amounts import examples
from tests.launch.touching_trees import falsehoods

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the truth is in /proc"),
]


@pytest.mark.must_hold
@pytest.mark.parametrize("seed", range(examples(2)))
def test_nothing_false_is_said_of_a_tree(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    assert falsehoods(seed, tmp_path) == []
