"""Generated trees of processes: each one is in the recording, under its own parent and the line that started
it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.amounts import examples
from tests.launch.trees import HIDING, LEAVES, TREES, WAYS, Node, judged

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the truth is in /proc"),
]

#: Of a hundred processes of which everything is ours to see.
MOST_UNKNOWN = 2


@pytest.mark.parametrize("way", sorted(WAYS))
def test_each_way_to_start_a_process(way: str, tmp_path: Path) -> None:
    verdict = judged((Node(way, () if way in LEAVES else (Node("subprocess"),)),), tmp_path)
    assert not verdict.wrong
    assert way in HIDING or not verdict.unknown


@pytest.mark.must_hold
def test_every_process_of_a_tree_is_in_its_place(record_property: Callable[[str, object], None]) -> None:
    right, hidden = 0, 0
    unknown: list[str] = []
    out_of_sight: list[str] = []

    @settings(max_examples=examples(4), suppress_health_check=list(HealthCheck))
    @given(TREES)
    def hold(tree: tuple[Node, ...]) -> None:
        nonlocal right, hidden
        with tempfile.TemporaryDirectory() as folder:
            verdict = judged(tree, Path(folder))
        assert not verdict.wrong
        right += verdict.right
        hidden += verdict.hidden
        unknown.extend(verdict.unknown)
        out_of_sight.extend(verdict.out_of_sight)

    hold()
    counts = f"{right} in their place, {len(unknown)} unknown, {hidden} not to be watched"
    record_property("processes", counts)
    print(f"{counts}, of which {len(out_of_sight)} were too short to be seen: {unknown}")
    assert len(unknown) * 100 <= MOST_UNKNOWN * (right + len(unknown))
