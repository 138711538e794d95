"""A captured region: recorded and not executed, then executed on the same memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from coldfork.virtual import CaptureError, CaptureRefusedError, ReplayError, capture
from tests.virtual.conftest import Run

torch: Any = pytest.importorskip("torch")

NOT_PERMITTED = "CUDA error: operation not permitted when stream is capturing"


def test_outputs_are_poison_until_the_replay() -> None:
    x = torch.arange(4.0)
    with capture() as graph:
        y = x * 2
        index = y.argmax()
    assert y.isnan().all()
    assert index.item() < -(2**62)
    graph.replay()
    assert y.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert index.item() == 3


def test_replay_reads_its_inputs_anew() -> None:
    x = torch.zeros(3)
    with capture() as graph:
        y = torch.softmax(x, 0) + x.sum()
    for values in ([1.0, 2.0, 3.0], [0.0, -1.0, 5.0]):
        x.copy_(torch.tensor(values))
        graph.replay()
        assert torch.equal(y, torch.softmax(x, 0) + x.sum())
    assert graph.replays == 2


def test_in_place_work_is_not_done_while_capturing_and_done_by_each_replay() -> None:
    counter = torch.zeros(3)
    with capture() as graph:
        counter[1:].add_(1)
    assert counter.tolist() == [0.0, 0.0, 0.0]
    graph.replay()
    graph.replay()
    assert counter.tolist() == [0.0, 2.0, 2.0]


def test_metadata_changed_in_place_does_not_move_what_was_recorded() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    with capture() as graph:
        y = x + 1
        doubled = y * 2
        y.t_()
        shifted = y + 1
        y.unsqueeze_(0)
    graph.replay()
    assert torch.equal(doubled, (x + 1) * 2)
    assert torch.equal(y, (x + 1).t().unsqueeze(0))
    assert torch.equal(shifted, x.t() + 2)


def test_an_empty_tensor_grows_when_it_is_given_as_out() -> None:
    x = torch.arange(4.0)
    out = torch.empty(0)
    with capture() as graph:
        torch.add(x, 1, out=out)
    assert out.isnan().all()
    graph.replay()
    assert out.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_a_tensor_that_grows_is_laid_out_as_the_operator_lays_it_out() -> None:
    x = torch.arange(6.0).reshape(2, 3).t()
    eager, out = torch.empty(0), torch.empty(0)
    torch.add(x, x, out=eager)
    with capture() as graph:
        torch.add(x, x, out=out)
    graph.replay()
    assert out.stride() == eager.stride() == (1, 3)
    assert torch.equal(out, eager)


def test_an_out_tensor_without_elements_does_not_poison_what_it_is_a_part_of() -> None:
    x = torch.arange(2.0)
    whole = torch.ones(4)
    part = whole[:0]
    with capture() as graph:
        torch.add(x, 1, out=part)
    assert whole.tolist() == [1.0] * 4
    graph.replay()
    assert whole.tolist() == [1.0, 2.0, 1.0, 1.0]


@pytest.mark.parametrize("way", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_modules_are_captured_in_every_mode(way: Callable[[], Any]) -> None:
    torch.manual_seed(0)
    layers = torch.nn
    model = layers.Sequential(
        layers.Linear(8, 16),
        layers.GELU(),
        layers.LayerNorm(16),
        layers.Dropout(0.5),
        layers.Unflatten(1, (4, 4)),
        layers.Flatten(),
        layers.Linear(16, 4),
    ).eval()
    x = torch.randn(3, 8)
    with way():
        expected = model(x)
        with capture() as graph:
            y = model(x)
        graph.replay()
        assert torch.equal(y, expected)
        assert y.stride() == expected.stride()


def test_a_training_step_is_captured() -> None:
    torch.manual_seed(0)
    weight = torch.randn(4, 4, requires_grad=True)
    x = torch.randn(2, 4)
    weight.grad = torch.zeros_like(weight)
    with capture() as graph:
        weight.grad.zero_()
        (x @ weight).square().sum().backward()
        with torch.no_grad():
            weight.sub_(weight.grad, alpha=0.1)
    before = weight.detach().clone().requires_grad_()
    graph.replay()
    (x @ before).square().sum().backward()
    assert torch.equal(weight.detach(), before.detach().sub(before.grad, alpha=0.1))


def test_random_numbers_are_new_at_each_replay_and_capture_draws_none() -> None:
    torch.manual_seed(1)
    state = torch.get_rng_state()
    with capture() as graph:
        noise = torch.rand(5)
        dropped = torch.dropout(torch.ones(100), 0.5, True)
    assert torch.equal(torch.get_rng_state(), state)
    graph.replay()
    first = noise.clone()
    graph.replay()
    assert not torch.equal(first, noise)
    torch.set_rng_state(state)
    assert torch.equal(torch.rand(5), first)
    assert 0 < int((dropped == 0).sum()) < 100


@pytest.mark.parametrize(
    "draw",
    [
        lambda generator: torch.empty(64).exponential_(generator=generator),
        lambda generator: torch.empty(64).uniform_(generator=generator),
        lambda generator: torch.ones(64).multinomial(8, generator=generator),
        lambda generator: torch.full((64,), 0.5).bernoulli(generator=generator),
    ],
)
def test_a_generator_of_the_program_is_drawn_from_by_each_replay_only(draw: Callable[[Any], Any]) -> None:
    generator = torch.Generator().manual_seed(3)
    wanted = [draw(generator), draw(generator)]
    generator.manual_seed(3)
    with capture() as graph:
        drawn = draw(generator)
    for one in wanted:
        graph.replay()
        assert torch.equal(drawn, one)


def test_records_name_the_operator_the_line_and_the_memory() -> None:
    x = torch.ones(2)
    with capture() as graph:
        y = x + 1
        y.mul_(x)
    add, mul = graph.records
    assert (add.name, mul.name) == ("aten::add.Tensor", "aten::mul_.Tensor")
    assert add.where is not None
    assert (add.where.path, add.where.function) == (
        __file__,
        "test_records_name_the_operator_the_line_and_the_memory",
    )
    assert mul.where is not None
    assert mul.where.line == add.where.line + 1
    assert [memory.kind for memory in add.reads] == ["outside"]
    assert add.reads[0].key == x.untyped_storage()._cdata
    assert [memory.key for memory in add.writes] == [y.untyped_storage()._cdata]
    assert mul.writes == add.writes
    assert set(mul.reads) == {*add.writes, *add.reads}


def test_replaying_too_early_says_so() -> None:
    with pytest.raises(CaptureRefusedError, match=NOT_PERMITTED), capture() as graph:
        graph.replay()


def test_a_failed_capture_cannot_be_replayed_and_the_next_one_works() -> None:
    with pytest.raises(ZeroDivisionError), capture() as graph:
        raise ZeroDivisionError
    with pytest.raises(ReplayError, match="capture failed"):
        graph.replay()
    x = torch.ones(1)
    with capture() as graph:
        y = x + 1
    graph.replay()
    assert y.item() == 2


def test_a_capture_inside_a_capture_is_refused() -> None:
    with pytest.raises(CaptureError, match=NOT_PERMITTED), capture(), capture():
        pass


@pytest.mark.must_hold
def test_capturing_imports_no_compiler(run: Run) -> None:
    program = run(
        """
        import sys, coldfork.virtual
        tell(early="torch" in sys.modules)
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU(), torch.nn.LayerNorm(4))
        x = torch.ones(2, 4)
        with coldfork.virtual.capture() as graph:
            y = model(x).softmax(-1)
            z = torch.where(y > 0, y, x) / 2
        graph.replay()
        tell(compiler="torch._dynamo" in sys.modules, fine=bool(z.isfinite().all()))
        """
    )
    assert program.told == {"early": False, "compiler": False, "fine": True}


def test_an_operator_that_gives_its_result_another_size_does_not_pass_in_silence() -> None:
    library = torch.library.Library("coldfork_sizes", "FRAGMENT")
    library.define("half(Tensor x) -> Tensor")
    library.impl("half", lambda x: x[: len(x) // 2].clone(), "CPU")
    torch.library.register_fake("coldfork_sizes::half", torch.empty_like, lib=library)
    with capture() as graph:
        torch.ops.coldfork_sizes.half(torch.ones(4))
    with pytest.raises(ReplayError, match=r"returned \(2,\) .* expected \(4,\)"):
        graph.replay()


def test_the_size_of_a_result_is_checked_after_the_first_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    # Torch has such an operator: its `out=` overload enlarges the tensor it is given on the way.
    from coldfork.virtual.capturing.operators import schemas

    monkeypatch.setattr(schemas, "_OUT_IN_ITS_OWN_WAY", frozenset())
    x, y = torch.full((3,), 0.5), torch.ones(3)
    with capture() as graph:
        torch.nn.functional.binary_cross_entropy(x, y, weight=x)
    with pytest.raises(ReplayError, match="binary_cross_entropy"):
        graph.replay()


def test_every_shortcut_of_the_replay_is_there() -> None:
    from coldfork.virtual.capturing.recording import steps

    for name in steps._SHORTCUTS:
        assert callable(getattr(torch._C._VariableFunctions, name.partition(".")[0]))
    for name in steps._SHORTCUTS_IN_PLACE:
        assert callable(getattr(torch._C.TensorBase, name.partition(".")[0]))
