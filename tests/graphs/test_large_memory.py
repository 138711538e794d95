"""Memory that is mapped in copies of the process instead of being sent between them."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Any

import pytest

from coldfork.graphs import BatchDescriptor, GraphManager, Mode, check
from coldfork.graphs.trials.copies import Standby
from coldfork.graphs.trials.large_memory import (
    LARGE,
    Pattern,
    _other_pages,
    _whole_pages,
    changed,
    fill,
    put_back,
    side_by_side,
)

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is mapped on Linux")

PATTERN = Pattern(torch.float32, 11)


def test_the_pages_that_a_copy_writes_are_told_and_can_be_written_elsewhere() -> None:
    memory = torch.zeros((LARGE + 5000) // 4 + 3)
    storage = memory.untyped_storage()

    def written(_: None) -> Any:
        fill(storage, PATTERN)
        assert bool((memory != 0).all())
        before = memory.clone()
        memory[0], memory[5000:7000], memory[-1] = 100.0, 200.0, 300.0
        pages = changed(storage, PATTERN)
        whole = torch.empty(0, dtype=torch.uint8).set_(storage)
        assert torch.equal(pages.numbers, _other_pages(whole, *_whole_pages(storage), PATTERN))
        after = memory.clone()
        fill(storage, PATTERN)
        untouched = changed(storage, PATTERN)
        assert torch.equal(memory, before)
        put_back(storage, pages)
        assert torch.equal(memory, after)
        one, other = side_by_side(PATTERN, pages, untouched)
        return int((one != other).sum()), untouched.numbers.tolist()

    with closing(Standby(written)) as standby:
        assert standby.ask(None, 60).value == (2002, [])
    assert not memory.any()


@pytest.mark.must_hold
@pytest.mark.parametrize("keeps", [True, False])
def test_a_large_cache_is_compared_where_it_was_written(keeps: bool) -> None:
    cache, x, slots = torch.empty(64 << 18), torch.zeros(4), torch.zeros(4, dtype=torch.int64)
    plans: dict[int, Any] = {}

    def forward(mode: Mode) -> None:
        plan = plans.setdefault(0, slots + 1) if keeps else slots + 1
        cache.index_copy_(0, plan, x)

    batch = BatchDescriptor(Mode.FULL, 4)
    report = check(lambda descriptor, phase: (forward, None), [batch], inputs=[x, slots], persistent=[cache])
    assert report.answer == ("leaks" if keeps else "clean"), str(report)


def test_a_graph_takes_no_more_memory_for_being_checked() -> None:
    x = torch.zeros(1000)

    def forward(mode: Mode) -> Any:
        y = x
        for _ in range(9):
            y = y * 2
        return y

    def taken(check: Any) -> list[int]:
        manager = GraphManager("cpu", check=check)
        manager.capture(lambda *_: (forward, None), [BatchDescriptor(Mode.FULL, 4)], progress=False)
        return list(manager.memory.values())

    assert taken("error") == taken("off")
