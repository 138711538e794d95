"""Random straight-line programs: a replay equals eager execution, whatever the inputs are by then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, reject, settings
from hypothesis import strategies as st

from coldfork.virtual import CaptureRefusedError, NotCapturableError, capture

torch: Any = pytest.importorskip("torch")

Instruction = tuple[str, int, int, int]


class World:
    """The objects a program works on: inputs, buffers that outlive a run, and state made on first use."""

    def __init__(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.inputs = [torch.randn(shape, generator=generator) for shape in ((2, 3), (3,), (6,), (3, 2))]
        self.buffers = [torch.zeros(2, 3), torch.ones(6)]
        self.lazy: dict[int, Any] = {}

    def fill(self, seed: int) -> None:
        """Other inputs, in the same memory."""
        for mine, other in zip(self.inputs, World(seed).inputs, strict=True):
            mine.copy_(other)


def _like(values: list[Any], wanted: Any, number: int) -> Any:
    """One of the values that has this shape."""
    fitting = [value for value in values if value.shape == wanted.shape]
    return fitting[number % len(fitting)]


def _unary(name: str) -> Callable[..., Any]:
    return lambda world, values, x, j, k: getattr(torch, name)(x)


def _with_another(work: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda world, values, x, j, k: work(x, _like(values, x, j))


def _row(x: Any, j: int) -> Any:
    return x[j % x.shape[0]] if x.dim() and x.shape[0] else x


def _sliced(x: Any, j: int, k: int) -> Any:
    return x[..., j % 2 :: 1 + k % 2] if x.dim() else x


def _into_row(x: Any, j: int) -> Any:
    _row(x, j).mul_(0.5)
    return x


def _lazy(world: World, x: Any, j: int) -> Any:
    if j % 3 not in world.lazy:
        world.lazy[j % 3] = torch.ones_like(x).mul_(j)
    return world.lazy[j % 3]


def _out(x: Any, y: Any) -> Any:
    out = torch.empty(0)
    torch.add(x, y, out=out)
    return out


def _filled(x: Any) -> Any:
    empty = torch.empty_like(x)
    empty.copy_(x)
    return empty


def _buffered(world: World, x: Any, j: int) -> Any:
    buffer = world.buffers[j % 2]
    if x.numel() == buffer.numel():
        buffer.add_(x.reshape(buffer.shape))
    return buffer


def _turned(x: Any) -> Any:
    return x.t_() if x.dim() == 2 and x._base is None and not x.is_leaf else x


WORK: dict[str, Callable[..., Any]] = {
    **{name: _unary(name) for name in ("sin", "neg", "relu", "exp", "sigmoid", "clone")},
    "cumsum0": lambda world, values, x, j, k: x.cumsum(0) if x.dim() else x + 1,
    "add": _with_another(torch.add),
    "mul": _with_another(torch.mul),
    "maximum": _with_another(torch.maximum),
    "where": _with_another(lambda x, y: torch.where(x > 0, x, y)),
    "masked_fill": _with_another(lambda x, y: x.masked_fill(y > 0, 2.0)),
    "out": _with_another(_out),
    "cat": _with_another(lambda x, y: torch.cat([x.reshape(-1), y.reshape(-1)])[: x.numel()]),
    "foreach": _with_another(lambda x, y: torch._foreach_add([x, y], 1.0)[1]),
    "add_": _with_another(lambda x, y: x.add_(y)),
    "mul_": lambda world, values, x, j, k: x.mul_(0.5 + j),
    "copy_": _with_another(lambda x, y: x.copy_(y)),
    "zero_": lambda world, values, x, j, k: x.zero_(),
    "fill row": lambda world, values, x, j, k: _into_row(x, j),
    "t": lambda world, values, x, j, k: x.t() if x.dim() == 2 else x,
    "t_": lambda world, values, x, j, k: _turned(x),
    "flat": lambda world, values, x, j, k: x.reshape(-1),
    "row": lambda world, values, x, j, k: _row(x, j),
    "slice": lambda world, values, x, j, k: _sliced(x, j, k),
    "expand": lambda world, values, x, j, k: x.unsqueeze(0).expand(2, *x.shape) if x.dim() < 2 else x,
    "squeeze": lambda world, values, x, j, k: x.unsqueeze(-1).squeeze(),
    "sum": lambda world, values, x, j, k: x.sum(-1) if x.dim() else x,
    "softmax": lambda world, values, x, j, k: x.softmax(-1) if x.dim() else x,
    "sort": lambda world, values, x, j, k: x.sort(-1)[j % 2].float() if x.dim() else x,
    "index": lambda world, values, x, j, k: x[x.argsort(0)[:1]] if x.dim() == 1 and x.numel() else x,
    "gather": lambda world, values, x, j, k: x.gather(-1, x.argsort(-1)) if x.dim() else x,
    "matmul": lambda world, values, x, j, k: x @ x.t() if x.dim() == 2 else x,
    "buffer": lambda world, values, x, j, k: _buffered(world, x, j),
    "lazy": lambda world, values, x, j, k: _lazy(world, x, j),
    "filled": lambda world, values, x, j, k: _filled(x),
    "noise": lambda world, values, x, j, k: x + torch.rand_like(x),
    "drop": lambda world, values, x, j, k: values.pop(j % len(values)) if len(values) > 5 else x,
}

PROGRAMS = st.lists(
    st.tuples(st.sampled_from(sorted(WORK)), *[st.integers(0, 12)] * 3), min_size=6, max_size=30
)


def run(program: list[Instruction], world: World) -> list[Any]:
    """Execute a program; what it does depends on shapes alone."""
    values = list(world.inputs)
    for name, i, j, k in program:
        values.append(WORK[name](world, values, values[i % len(values)], j, k))
    return values[4:]


def _same(ours: list[Any], theirs: list[Any]) -> bool:
    return all(
        mine.shape == other.shape
        and mine.stride() == other.stride()
        and torch.equal(mine.nan_to_num(7e7), other.nan_to_num(7e7))
        for mine, other in zip(ours, theirs, strict=True)
    )


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Torch's threads wait for each other in a busy loop: where others work too, that takes minutes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.must_hold
@settings(
    max_examples=80, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.filter_too_much]
)
@given(PROGRAMS, st.sampled_from([torch.no_grad, torch.inference_mode, torch.enable_grad]), st.booleans())
def test_a_replay_equals_eager_execution(
    program: list[Instruction], mode: Callable[[], Any], warm: bool
) -> None:
    with mode():
        eager, virtual = World(0), World(1)
        try:
            run(program, World(2))
        except RuntimeError:
            # Such as writing to a tensor whose elements share memory: no program at all.
            reject()
        if warm:
            # A warm-up run, whose state the capture must not see.
            run(program, virtual)
            virtual.lazy.clear()
            for mine, other in zip(virtual.buffers, World(1).buffers, strict=True):
                mine.copy_(other)
        try:
            with capture() as graph:
                got = run(program, virtual)
        except (CaptureRefusedError, NotCapturableError) as error:
            pytest.fail(f"refused: {error}")
        event(f"{len(graph.records) // 10 * 10}+ operators")
        for seed in (3, 4):
            eager.fill(seed)
            virtual.fill(seed)
            # Each run initialises its state itself: that is what makes the program safe to capture.
            eager.lazy.clear()
            torch.manual_seed(seed)
            expected = run(program, eager)
            torch.manual_seed(seed)
            graph.replay()
            assert _same(got, expected)
            assert _same(virtual.buffers, eager.buffers)
            assert graph.explain_poison() is None
            if eager.lazy:
                assert _same(list(virtual.lazy.values()), list(eager.lazy.values()))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(PROGRAMS, st.integers(0, 24))
def test_state_that_was_made_in_the_warm_up_and_dropped_is_poison_or_unused(
    program: list[Instruction], position: int
) -> None:
    """The lazily initialised state of a warm-up, kept until the capture and then gone with its metadata."""
    program = [
        *program[: position % 8],
        ("lazy", 0, 1, 0),
        ("add", 4 + position % 8, position, 0),
        *program[8:],
    ]
    with torch.no_grad():
        world = World(0)
        try:
            run(program, world)
        except RuntimeError:
            reject()
        with capture() as graph:
            got = run(program, world)
        lazy = {id(state.untyped_storage()): state for state in world.lazy.values()}
        keys = {state.untyped_storage()._cdata for state in lazy.values()}
        held = [value for value in got if value.untyped_storage()._cdata in keys]
        used = any(memory.key in keys for record in graph.records for memory in record.reads)
        del lazy
        world.lazy.clear()
        if held:
            return
        graph.replay()
        found = graph.explain_poison()
        assert (found is not None) == used
        if found is not None:
            assert "the program freed after the capture" in str(found)
