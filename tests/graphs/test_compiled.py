"""Compiled forward passes in graphs: whole, cut at attention as engines do it, and under the check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from coldfork.graphs import BatchDescriptor, GraphManager, LeakKind, Mode, Phase, check, piece

torch: Any = pytest.importorskip("torch")

# Torch's compiler imports what torch itself no longer recommends.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script_method.*:DeprecationWarning")

WIDTH = 6
MOST = 16


@pytest.fixture(autouse=True)
def fresh_compiler(compiled_code: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is compiled yet, and what a test compiled goes with it."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(compiled_code))
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def attention(hidden: torch.Tensor, out: torch.Tensor) -> None:
    """A sum over the sequence so far; how long that is, the host has to know."""
    length = Attention.length
    out.zero_()
    out[:length] = hidden[:length].cumsum(0)


class Attention:
    """The settings of an engine for each step."""

    length = 0


ATTEND = torch.library.custom_op("coldfork_test::attention", attention, mutates_args=["out"])
ATTEND.register_fake(lambda hidden, out: None)


class Cutter:
    """A backend that cuts a program at attention and compiles each part between, as vLLM's does."""

    def __init__(self) -> None:
        self.parts = 0

    def __call__(self, module: Any, inputs: Any) -> Any:
        from torch._inductor.compile_fx import compile_fx
        from torch.fx.passes.split_module import split_module

        numbers: dict[Any, int] = {}
        eager = set[str]()
        number = 0
        for node in module.graph.nodes:
            if node.op == "call_function" and "coldfork_test" in str(node.target):
                eager.add(f"submod_{number + 1}")
                numbers[node] = number + 1
                number += 2
            elif node.op not in ("placeholder", "output"):
                numbers[node] = number
        cut = split_module(module, None, numbers.__getitem__, keep_original_order=True)
        cutter = self

        class Compile(torch.fx.Interpreter):  # type: ignore[misc]
            def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
                result = super().call_module(target, args, kwargs)
                if target not in eager:
                    cutter.parts += 1
                    compiled = compile_fx(getattr(self.module, target), list(args))
                    setattr(self.module, target, Part(compiled))
                return result

        Compile(cut).run(*inputs)
        return cut


class Part(torch.nn.Module):  # type: ignore[misc]
    """One compiled part, to be captured by itself."""

    def __init__(self, compiled: Callable[..., Any]) -> None:
        super().__init__()
        self.piece = piece(compiled)

    def forward(self, *args: Any) -> Any:
        return self.piece(*args)


def model(x: Any, weight: Any) -> Any:
    """A layer before attention, and one after it."""
    hidden = (x @ weight).relu()
    out = torch.empty_like(hidden)
    ATTEND(hidden * 2, out)
    return (out + hidden).sin() @ weight


@pytest.mark.must_hold
def test_a_program_cut_at_attention_replays_its_parts() -> None:
    cutter = Cutter()
    run = torch.compile(model, backend=cutter, dynamic=True)
    weight, buffer = torch.randn(WIDTH, WIDTH), torch.zeros(MOST, WIDTH)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        x = buffer[: descriptor.tokens]
        return (lambda mode: run(x, weight)), None

    manager = GraphManager("cpu")
    sizes = [BatchDescriptor(Mode.PIECEWISE, tokens) for tokens in (4, 8, 12)]
    Attention.length = 2
    with torch.no_grad():
        manager.capture(create, sizes, inputs=lambda one: {"x": buffer[: one.tokens]})
        assert cutter.parts == 2
        for descriptor in sizes:
            for length in (1, 4):
                Attention.length = length
                x = torch.randn(descriptor.tokens, WIDTH)
                torch.testing.assert_close(manager.replay(descriptor, x=x), model(x, weight))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_whole_pass_that_was_compiled(backend: str) -> None:
    layer = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU(), torch.nn.Linear(WIDTH, 2))
    run = torch.compile(layer, backend=backend, dynamic=True)
    buffer = torch.zeros(MOST, WIDTH)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        x = buffer[: descriptor.tokens]
        return (lambda mode: run(x)), None

    manager = GraphManager("cpu", check="error")
    sizes = [BatchDescriptor(Mode.FULL, tokens) for tokens in (4, 8)]
    with torch.no_grad():
        manager.capture(create, sizes, inputs=lambda one: {"x": buffer[: one.tokens]})
        for descriptor in sizes:
            x = torch.randn(descriptor.tokens, WIDTH)
            torch.testing.assert_close(manager.replay(descriptor, x=x), layer(x))


def test_what_a_compiled_kernel_left_in_the_warm_up_is_found() -> None:
    x, plan = torch.zeros(4), torch.zeros(4)
    planned: list[bool] = []

    def write(x: Any, plan: Any) -> None:
        plan.copy_(x * 3)

    make = torch.compile(write)
    use = torch.compile(lambda x, plan: x + plan)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        def forward(mode: Mode) -> Any:
            if not planned:
                planned.append(True)
                make(x, plan)
            return use(x, plan)

        return forward, {"planned": planned}

    report = check(create, [BatchDescriptor(Mode.FULL, 4)], inputs=[x])
    found = [leak for leak in report.leaks if leak.kind is LeakKind.MEMORY]
    assert found
    assert "inductor_kernels::cpp_fused_add" in found[0].what
    assert "inductor_kernels::cpp_fused_copy__mul" in found[0].message
    assert found[0].where is not None
    assert found[0].where.path == __file__


@pytest.mark.parametrize("leaks", [True, False])
def test_a_warm_up_on_zeros_hides_nothing_where_something_was_compiled(leaks: bool) -> None:
    x = torch.zeros(4)
    kept: dict[str, Any] = {}
    add = torch.compile(lambda plan, x: plan.add_(x), backend="eager")

    def forward(mode: Mode) -> Any:
        if "plan" not in kept or not leaks:
            kept["plan"] = torch.zeros(4)
        return add(kept["plan"], x) * 2

    report = check(lambda *_: (forward, kept), [BatchDescriptor(Mode.FULL, 4)], inputs={"x": x})
    assert report.answer == ("leaks" if leaks else "clean"), str(report)
