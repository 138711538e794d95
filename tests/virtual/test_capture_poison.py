"""Where poison came from: the operator and the line that read memory into which nothing was written."""

from __future__ import annotations

import linecache
import re
from pathlib import Path
from typing import Any

import pytest

from coldfork.virtual import CaptureError, ReplayError, capture
from tests.virtual.conftest import Run

torch: Any = pytest.importorskip("torch")


def _line(found: Any) -> str:
    """The source of the line that was named."""
    assert found is not None
    assert found.where is not None
    return linecache.getline(found.where.path, found.where.line).strip()


@pytest.mark.must_hold
def test_the_first_read_of_uninitialised_memory_is_named() -> None:
    x = torch.ones(4)
    with capture() as graph:
        plan = torch.empty(4)
        fine = x * 2
        wrong = plan * 2
        y = fine + wrong
    graph.replay()
    assert y.isnan().all()
    found = graph.explain_poison(y)
    assert found is not None
    assert found.operator == "aten::mul.Tensor"
    assert _line(found) == "wrong = plan * 2"
    assert found.allocated is not None
    assert found.allocated.line == found.where.line - 2  # type: ignore[union-attr]
    assert "nothing in the graph has written before" in str(found)
    assert graph.explain_poison(fine) is None


def test_only_the_elements_that_were_read_count() -> None:
    x = torch.ones(2)
    with capture() as graph:
        buffer = torch.empty(4)
        buffer[:2] = x
        good = buffer[:2] + 1
        bad = buffer[1:3] + 1
    assert graph.explain_poison(good) is None
    assert _line(graph.explain_poison(bad)) == "bad = buffer[1:3] + 1"


def test_poison_that_is_masked_out_taints_nothing() -> None:
    x = torch.tensor([1.0, -1.0])
    with capture() as graph:
        garbage = torch.empty(2)
        y = torch.where(x.isfinite(), x, garbage * 2)
    assert graph.explain_poison(y) is None
    found = graph.explain_poison()
    assert _line(found) == "y = torch.where(x.isfinite(), x, garbage * 2)"


def test_a_scatter_initialises_what_it_writes() -> None:
    index = torch.tensor([0, 2])
    x = torch.ones(2)
    with capture() as graph:
        cache = torch.empty(4)
        cache.index_copy_(0, index, x)
        good = cache[::2] * 1
        bad = cache * 1
    graph.replay()
    assert graph.explain_poison(good) is None
    assert _line(graph.explain_poison(bad)) == "bad = cache * 1"


def test_poisoned_indices_are_named_although_the_replay_fails() -> None:
    x = torch.arange(4.0)
    with capture() as graph:
        index = torch.empty(2, dtype=torch.int64)
        x[index]
    with pytest.raises(ReplayError, match=r"aten::index.Tensor, captured at .*test_capture_poison.py"):
        graph.replay()
    assert _line(graph.explain_poison()) == "x[index]"


def test_memory_of_a_graph_that_was_not_replayed_is_named() -> None:
    x = torch.ones(4)
    with capture() as first:
        plan = x + 1
    with capture() as second:
        y = plan * 2
    second.replay()
    assert y.isnan().all()
    found = second.explain_poison(y)
    assert "has not been replayed" in str(found)
    first.replay()
    second.replay()
    assert y.tolist() == [4.0] * 4
    assert second.explain_poison(y) is None


def test_a_tensor_that_repeats_its_elements_may_be_written_with_itself() -> None:
    x = torch.ones(3)
    with capture() as graph:
        repeated = x.expand(2, 3)
        repeated.copy_(repeated)
        y = repeated * 2
    graph.replay()
    assert y.tolist() == [[2.0] * 3] * 2
    assert graph.explain_poison(y) is None


def test_what_nothing_wrote_is_said_to_be_so() -> None:
    with capture() as graph:
        y = torch.empty(3)
    found = graph.explain_poison(y)
    assert str(found).startswith("nothing in the graph writes this memory (allocated at ")


def test_explaining_changes_nothing() -> None:
    counter = torch.zeros(3)
    with capture() as graph:
        counter.add_(1)
        noise = torch.rand(3)
        y = torch.empty(3) + noise
    graph.replay()
    held = counter.clone(), noise.clone(), y.clone(), torch.get_rng_state()
    assert graph.explain_poison(y) is not None
    assert torch.equal(counter, held[0])
    assert torch.equal(noise, held[1])
    assert (
        torch.equal(
            y,
            held[2],
        )
        or y.isnan().all()
    )
    assert torch.equal(torch.get_rng_state(), held[3])
    assert graph.replays == 1


def test_a_tensor_of_somewhere_else_is_refused() -> None:
    with capture() as graph:
        torch.ones(3)
    with pytest.raises(CaptureError, match="neither reads nor writes"):
        graph.explain_poison(torch.ones(2))


def test_the_example_of_the_documentation_prints_what_it_says(run: Run, tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "virtual-capture.md"
    source, printed = re.findall(r"```\w+\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[:2]
    example = tmp_path / "example.py"
    example.write_text(source, encoding="utf-8")
    program = run(f"import runpy; runpy.run_path({str(example)!r})")
    assert program.printed.replace(f"{tmp_path}/", "") == printed
