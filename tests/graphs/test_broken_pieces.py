"""Parts of a piece that stay outside of its graph: it is captured up to there, and goes on after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from coldfork.graphs import (
    BatchDescriptor,
    CaptureFailedError,
    GraphManager,
    InputError,
    LeakError,
    Mode,
    Phase,
    current_state,
    eager,
    piece,
)

torch: Any = pytest.importorskip("torch")

FOUR = BatchDescriptor(Mode.PIECEWISE, 4)


class Engine:
    """A model whose attention asks for the length of this step, on the host, which no capture can hold."""

    def __init__(self, body: Callable[[Engine, Any], Any]) -> None:
        self.x = torch.zeros(4)
        self.kept: Any = None
        self.model = piece(lambda x: body(self, x))

    @eager
    def attend(self, hidden: Any) -> Any:
        length = int(current_state())
        return torch.where(torch.arange(4) < length, hidden.cumsum(0), 0.0)

    @eager
    def into(self, hidden: Any, out: Any) -> None:
        out.copy_(hidden * int(current_state()))

    def inputs(self, descriptor: BatchDescriptor) -> dict[str, Any]:
        return {"x": self.x}

    def create(self, descriptor: BatchDescriptor, phase: Phase) -> tuple[Callable[[Mode], Any], int]:
        return (lambda mode: self.model(self.x)), 2

    def expected(self, state: int, values: Any) -> Any:
        """Return the model's result where nothing is captured."""
        self.x.copy_(values)
        manager = GraphManager("cpu")
        eager_run: list[Any] = []

        def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
            def forward(mode: Mode) -> None:
                if phase is Phase.WARMUP:
                    eager_run.append(self.model(self.x))

            return forward, state

        manager.capture(create, [FOUR])
        return eager_run[0]


def once(engine: Engine, x: Any) -> Any:
    hidden, residual = x * 2, x + 10
    return engine.attend(hidden) + residual


def at_both_ends_and_twice_in_a_row(engine: Engine, x: Any) -> Any:
    return engine.attend(engine.attend(engine.attend(x)) * 3)


def into_a_buffer(engine: Engine, x: Any) -> Any:
    out = torch.empty_like(x)
    engine.into(x + 1, out)
    return out * 2 + x


def with_a_piece_in_it(engine: Engine, x: Any) -> Any:
    return engine.attend(piece(lambda y: y - 1)(x)) * 2


inner = piece(lambda y: y * int(current_state()))
outer = eager(lambda y: inner(y) + inner(y + 1))


def with_pieces_in_the_part(engine: Engine, x: Any) -> Any:
    return outer(x * 3) - x


@pytest.mark.parametrize(
    "body",
    [once, at_both_ends_and_twice_in_a_row, into_a_buffer, with_a_piece_in_it, with_pieces_in_the_part],
)
@pytest.mark.parametrize("weak", [False, True])
def test_replays_compute_what_eager_runs_do(body: Any, weak: bool) -> None:
    engine = Engine(body)
    wanted = [(one, engine.expected(one, torch.arange(4.0) + one).clone()) for one in (1, 3, 4)]
    manager = GraphManager("cpu", weak_outputs=weak)
    manager.capture(engine.create, [FOUR, BatchDescriptor(Mode.PIECEWISE, 3)], inputs=engine.inputs)
    for state, output in (*wanted, *reversed(wanted)):
        replayed = manager.replay(FOUR, state=state, x=torch.arange(4.0) + state)
        assert replayed.tolist() == output.tolist(), state


def test_a_full_graph_holds_the_part_too() -> None:
    double = eager(lambda x: x * 2)
    x = torch.zeros(4)
    full = BatchDescriptor(Mode.FULL, 4)
    manager = GraphManager("cpu", check="error")
    manager.capture(lambda *_: ((lambda mode: double(x) + 1), None), [full], inputs=lambda _: {"x": x})
    assert manager.replay(full, x=torch.ones(4)).tolist() == [3] * 4


def test_what_a_part_gives_has_to_fit_where_the_graph_reads_it() -> None:
    engine = Engine(lambda engine, x: shorter(x) + 1)
    shorter = eager(lambda x: x[: int(current_state())])
    manager = GraphManager("cpu")
    manager.capture(engine.create, [FOUR], inputs=engine.inputs)
    assert manager.replay(FOUR, x=torch.ones(4)).tolist() == [2, 2]
    with pytest.raises(InputError, match=r"the eager part .*lambda.* gave \(2,\) .* and now gives \(3,\)"):
        manager.replay(FOUR, state=3)


def test_a_number_that_a_part_gives_is_in_the_graph() -> None:
    engine = Engine(lambda engine, x: x * number())
    number = eager(lambda: int(current_state()))
    manager = GraphManager("cpu")
    manager.capture(engine.create, [FOUR], inputs=engine.inputs)
    with pytest.raises(InputError, match=r"the eager part .* gave 2 when it was captured, and now gives 3"):
        manager.replay(FOUR, state=3)


def test_a_part_that_fails_fails_the_capture_and_no_other() -> None:
    def fails() -> None:
        raise OSError("no such cache")

    part = eager(fails)
    engine = Engine(once)
    broken = piece(lambda x: (x + 1, part()))

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        return (lambda mode: broken(engine.x) if mode is Mode.PIECEWISE else None), None

    manager = GraphManager("cpu")
    with pytest.raises(CaptureFailedError, match="capturing PIECEWISE tokens=4 failed: OSError: no such"):
        manager.capture(create, [FOUR])
    manager.capture(engine.create, [FOUR], inputs=engine.inputs)
    assert manager.replay(FOUR, x=torch.ones(4)).tolist() == [13, 15, 11, 11]


def plans_once(engine: Engine, x: Any) -> Any:
    if engine.kept is None:
        engine.kept = x.cumsum(0)
    return engine.attend(x) + engine.kept


def test_a_check_looks_at_the_graphs_around_the_part() -> None:
    engine = Engine(once)
    GraphManager("cpu", check="error").capture(engine.create, [FOUR], inputs=engine.inputs)
    leaks = Engine(plans_once)
    with pytest.raises(LeakError, match="kept: None -> a tensor"):
        GraphManager("cpu", check="error").capture(leaks.create, [FOUR], inputs=leaks.inputs)
