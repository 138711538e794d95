"""The kernels of `torch.compile` are captured as they run; what cannot be captured is refused by name."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from coldfork.virtual import CaptureRefusedError, NotCapturableError, capture
from coldfork.virtual.capturing.compiled.signatures import UnreadableKernelError, signatures
from tests.virtual.conftest import Run

torch: Any = pytest.importorskip("torch")

# Torch's compiler imports what torch itself no longer recommends.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script_method.*:DeprecationWarning")

HERE = __file__
BACKENDS = ("eager", "aot_eager", "inductor", "reduce-overhead", "max-autotune-no-cudagraphs")
"""Backends of the compiler, and modes of inductor."""


@pytest.fixture(autouse=True)
def fresh_compiler(compiled_code: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is compiled yet, and what a test compiled goes with it."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(compiled_code))
    torch._dynamo.reset()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    torch._dynamo.reset()
    gc.collect()


def compiled(function: Callable[..., Any], how: str = "inductor", **more: Any) -> Any:
    """A function that a backend or a mode compiles."""
    if "eager" in how or how == "inductor":
        return torch.compile(function, backend=how, **more)
    return torch.compile(function, mode=how, **more)


def step(x: Any, weight: Any, out: Any) -> tuple[Any, ...]:
    """Fused and library work, a view, in-place work on two arguments, and several results."""
    hidden = (x @ weight).relu()
    out.copy_(hidden * 2)
    scores = torch.softmax(hidden, -1)
    x.add_(1)
    return scores, hidden.sum(-1), x[0], torch.sort(scores)[0]


@pytest.mark.must_hold
@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("how", BACKENDS)
def test_a_replay_computes_what_eager_execution_does(how: str, dynamic: bool | None) -> None:
    weight = torch.randn(8, 8)
    run = compiled(step, how, dynamic=dynamic)
    tokens = 6 if dynamic else 4
    with torch.no_grad():
        for rows in (4, 5) if dynamic else (4,):
            run(torch.ones(rows, 8), weight, torch.empty(rows, 8))
        x, out = torch.ones(tokens, 8), torch.empty(tokens, 8)
        with capture() as graph:
            results = run(x, weight, out)
        assert results[0].isnan().all()
        assert x.eq(1).all()
        for _ in range(3):
            x.copy_(torch.randn(tokens, 8))
            mine, mine_out = x.clone(), torch.empty(tokens, 8)
            graph.replay()
            expected = step(mine, weight, mine_out)
            torch.testing.assert_close((*results, x, out), (*expected, mine, mine_out))
    assert {record.where.path for record in graph.records if record.where} == {HERE}
    assert graph.explain_poison() is None


def test_kernels_of_inductor_are_operators_with_what_they_read_and_write() -> None:
    x, out = torch.ones(4), torch.zeros(4)

    def triple(x: Any, out: Any) -> None:
        out.copy_(x * 3)

    run = compiled(triple)
    run(x, out)
    with capture() as graph:
        run(x, out)
    (kernel,) = (record for record in graph.records if "cpp_fused" in record.name)
    assert kernel.name.startswith("inductor_kernels::cpp_fused_")
    assert [one.key for one in kernel.reads] == [x.untyped_storage()._cdata]
    assert [one.key for one in kernel.writes] == [out.untyped_storage()._cdata]


def test_a_kernel_that_works_in_place_reads_what_it_writes() -> None:
    x, weight = torch.ones(4, 4), torch.ones(4, 4)
    run = compiled(lambda x, weight: (x @ weight).relu())
    run(x, weight)
    with capture() as graph:
        run(x, weight)
    (kernel,) = (record for record in graph.records if "relu" in record.name)
    assert kernel.reads == kernel.writes != ()


def test_a_kernel_that_writes_a_part_of_a_buffer_depends_on_the_rest_of_it() -> None:
    cache, slots, rows = torch.zeros(6, 3), torch.tensor([0, 1]), torch.ones(2, 3)

    def store(cache: Any, slots: Any, rows: Any) -> Any:
        cache[slots] = rows
        return cache.sum(0)

    run = compiled(store)
    run(cache, slots, rows)
    cache.zero_()
    with capture() as graph:
        total = run(cache, slots, rows)
    slots.copy_(torch.tensor([2, 5]))
    graph.replay()
    assert cache.sum(1).tolist() == [0, 0, 3, 0, 0, 3]
    assert total.tolist() == [2, 2, 2]
    key = cache.untyped_storage()._cdata
    (kernel,) = (record for record in graph.records if "index_put" in record.name)
    assert key in [one.key for one in kernel.reads]
    assert key in [one.key for one in kernel.writes]


def test_a_kernel_that_divides_integers_is_not_tried_on_numbers_of_no_meaning() -> None:
    def divide(x: Any, y: Any, out: Any) -> None:
        out.copy_(torch.div(x, y, rounding_mode="trunc"))

    run = compiled(divide)
    x, y, out = torch.tensor([9, -7]), torch.tensor([2, 2]), torch.zeros(2, dtype=torch.int64)
    run(x, y, out)
    with capture() as graph:
        run(x, y, out)
    x.copy_(torch.tensor([8, 3]))
    graph.replay()
    assert out.tolist() == [4, 1]
    # Dividing by zero would end the process, so whether it overwrites all of them is not known.
    (kernel,) = (record for record in graph.records if "div" in record.name)
    assert out.untyped_storage()._cdata in [one.key for one in kernel.reads]


def test_a_kernel_that_reads_poison_is_named() -> None:
    x = torch.ones(4)
    run = compiled(lambda x, plan: x * plan)
    run(x, torch.ones(4))
    run(x, torch.ones(4))
    with capture() as graph:
        plan = torch.empty_like(x)
        y = run(x, plan)
    graph.replay()
    assert y.isnan().all()
    read = graph.explain_poison(y)
    assert read is not None
    assert read.operator.startswith("inductor_kernels::cpp_fused_mul")
    assert read.where is not None
    assert read.where.path == HERE


def test_random_numbers_are_drawn_anew_by_each_replay() -> None:
    x = torch.zeros(64)
    run = compiled(lambda x: x + torch.rand_like(x))
    run(x)
    before = torch.get_rng_state()
    with capture() as graph:
        y = run(x)
    assert torch.equal(torch.get_rng_state(), before)
    graph.replay()
    first = y.clone()
    graph.replay()
    assert not torch.equal(first, y)
    assert 0 <= float(y.min()) <= float(y.max()) < 1


@pytest.mark.parametrize("how", ["aot_eager", "inductor"])
def test_backward_is_captured_too(how: str) -> None:
    layer = torch.nn.Linear(4, 4)
    run = compiled(layer, how)
    x = torch.ones(2, 4)
    run(x).sin().sum().backward()
    layer.zero_grad()
    with capture() as graph:
        run(x).sin().sum().backward()
    gradient = layer.weight.grad
    x.copy_(torch.randn(2, 4))
    graph.replay()
    layer.weight.grad = None
    layer(x).sin().sum().backward()
    torch.testing.assert_close(gradient, layer.weight.grad)


def test_dimensions_that_are_marked_dynamic_serve_other_sizes() -> None:
    run = compiled(lambda x: (x * 2).cumsum(0))
    first = torch.ones(4, 8)
    torch._dynamo.mark_dynamic(first, 0)
    run(first)
    for rows in (4, 7, 3):
        x = torch.ones(rows, 8)
        with capture() as graph:
            y = run(x)
        x.copy_(torch.randn(rows, 8))
        graph.replay()
        torch.testing.assert_close(y, (x * 2).cumsum(0))


def test_code_between_two_compiled_parts_is_captured_with_them() -> None:
    between = torch._dynamo.disable(lambda x: x.cumsum(0))
    run = compiled(lambda x: between(x * 2) + 1)
    x = torch.ones(4)
    run(x)
    with capture() as graph:
        y = run(x)
    x.copy_(torch.arange(4.0))
    graph.replay()
    assert y.tolist() == [1, 3, 7, 13]


@pytest.mark.parametrize("how", ["eager", "aot_eager", "inductor"])
def test_a_custom_operator_that_writes_its_argument(how: str) -> None:
    def attention(query: torch.Tensor, key: torch.Tensor, out: torch.Tensor) -> None:
        out.copy_(torch.softmax(query @ key.T, -1) @ key)

    attend = torch.library.custom_op(f"coldfork_test::attend_{how}", attention, mutates_args=["out"])
    attend.register_fake(lambda query, key, out: None)

    def forward(x: Any) -> Any:
        out = torch.empty_like(x)
        attend(x * 2, x, out)
        return out.sin() + 1

    run = compiled(forward, how)
    x = torch.randn(4, 8)
    run(x)
    with capture() as graph:
        y = run(x)
    x.copy_(torch.randn(4, 8))
    graph.replay()
    torch.testing.assert_close(y, forward(x))


# --- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["eager", "inductor"])
def test_to_compile_in_a_capture_is_refused_with_the_line(how: str) -> None:
    run = compiled(lambda x: x * 2, how, dynamic=False)
    run(torch.ones(3))
    x = torch.ones(4)
    with pytest.raises(CaptureRefusedError) as refused, capture():
        run(x)
    error = refused.value
    assert "torch.compile of test_to_compile_in_a_capture" in error.what
    assert "call it with such arguments before the capture" in str(error)
    assert error.where is not None
    assert error.where.path == HERE
    # Nothing of it stays behind: the next call compiles, and what was compiled is captured.
    assert run(x).tolist() == [2, 2, 2, 2]
    with capture() as graph:
        y = run(x)
    graph.replay()
    assert y.tolist() == [2, 2, 2, 2]


def test_a_backward_that_was_not_run_before_is_compiled_too_late() -> None:
    run = compiled(torch.nn.Linear(4, 5))
    x = torch.ones(2, 4)
    run(x)
    with pytest.raises(CaptureRefusedError, match="compiles here for the first time"), capture():
        run(x).sum().backward()


def test_the_first_compilation_of_a_process_is_refused_in_a_capture(run: Run) -> None:
    program = run("""
        import torch
        from coldfork.virtual import CaptureRefusedError, capture

        x = torch.ones(4)
        try:
            with capture():
                torch.compile(lambda x: x * 2, backend="eager")(x)
        except CaptureRefusedError as error:
            tell(said=str(error))
        double = torch.compile(lambda x: x * 2, backend="eager")
        double(x)
        with capture() as graph:
            y = double(x)
        graph.replay()
        tell(result=y.tolist())
    """)
    assert "compiles here for the first time" in program.told["said"]
    assert program.told["result"] == [2, 2, 2, 2]


@pytest.mark.parametrize("how", ["eager", "inductor"])
def test_a_branch_on_a_value_of_the_device_is_refused(how: str) -> None:
    run = compiled(lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, [x]), how)
    x = torch.ones(4)
    run(x)
    with pytest.raises(CaptureRefusedError, match="reads a value of the device on the host"), capture():
        run(x)


def test_compiled_work_of_another_thread_is_refused() -> None:
    run = compiled(lambda x: x * 2)
    x = torch.ones(4)
    run(x)
    failed: list[BaseException] = []

    def work() -> None:
        try:
            run(x)
        except CaptureRefusedError as error:
            failed.append(error)

    def elsewhere() -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    with pytest.raises(CaptureRefusedError), capture():
        elsewhere()
    assert "is work of a thread other than the capturing one" in str(failed[0])
    assert run(x).tolist() == [2, 2, 2, 2]


def test_a_thread_that_was_there_before_runs_its_own_graphs_as_they_are() -> None:
    run = compiled(lambda x: x * 2)
    x, mine = torch.ones(4), torch.ones(4)
    run(x)
    asked, answered = threading.Event(), threading.Event()
    got: list[Any] = []

    def work() -> None:
        assert asked.wait(60)
        got.append(run(mine))
        answered.set()

    thread = threading.Thread(target=work)
    thread.start()
    with capture() as graph:
        y = run(x)
        asked.set()
        assert answered.wait(60)
    thread.join()
    graph.replay()
    assert got[0].tolist() == y.tolist() == [2, 2, 2, 2]


def test_a_graph_that_is_one_library_is_refused_by_name() -> None:
    run = compiled(lambda x: x * 2 + 1, options={"cpp_wrapper": True})
    x = torch.ones(4)
    run(x)
    with (
        pytest.raises(NotCapturableError, match=r"a graph of torch\.compile at .* cannot be captured"),
        capture(),
    ):
        run(x)


def test_kernels_in_another_language_are_not_guessed_at() -> None:
    with pytest.raises(UnreadableKernelError, match="triton_0 was made by triton"):
        list(signatures("triton_0 = async_compile.triton('triton_0', '''...''')"))
    with pytest.raises(UnreadableKernelError, match="2 parameters, but 1 names"):
        list(signatures("k = async_compile.cpp_pybinding(['float*', 'float*'], '''void kernel(float* a)''')"))
    (kernel,) = signatures("k = async_compile.cpp_pybinding(['std::string'], 'void kernel(x name)')")
    with pytest.raises(UnreadableKernelError, match="std::string name"):
        assert kernel.schema
