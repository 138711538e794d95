"""Leaks and what is not one, in small programs; test_generated.py asks replays."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from coldfork.graphs import (
    BatchDescriptor,
    CaptureFailedError,
    GraphError,
    InputError,
    Leak,
    LeakKind,
    Mode,
    Phase,
    Report,
    check,
    piece,
)
from coldfork.graphs.engines import VirtualEngine, is_lost
from coldfork.graphs.leak_check import _innermost
from coldfork.graphs.leaks.inspection import Inspector
from coldfork.graphs.leaks.memory import BEFORE, NOTHING, CheckedRun, Ledger, Writer
from coldfork.graphs.pieces import CURRENT, CapturingPass, ReplayingPass
from coldfork.model.states import Frame
from tests.graphs.engine import line_of, torch

SIZE = 4
BATCH = BatchDescriptor(Mode.FULL, SIZE)


def making(forward: Callable[[Any], Any], state: Any) -> Any:
    """A program that has one state for both phases."""
    return lambda descriptor, phase: ((lambda mode: forward(state)), state)


def kinds(report: Report) -> list[LeakKind]:
    return [leak.kind for leak in report.leaks]


# --- reads on the host -----------------------------------------------------------------------------------

READS: dict[str, Callable[[Any], float]] = {
    "item": lambda tensor: tensor.item(),
    "tolist": lambda tensor: tensor.reshape(1).tolist()[0],
    "numpy": lambda tensor: float(tensor.numpy()),
    "__array__": lambda tensor: float(tensor.__array__()),
    "cpu": lambda tensor: tensor.cpu().item(),
    "__dlpack__": lambda tensor: float(torch.from_dlpack(tensor)),
    "float": float,
}


def scaling(read: Callable[[Any], float], name: str, *, used: bool = True) -> Callable[[Any], Any]:
    def forward(state: Any) -> Any:
        if state.scale is None:
            value = read(getattr(state, name)[0])
            state.scale = value if used else 2.0
        return state.x * state.scale

    return forward


@pytest.mark.parametrize("read", READS)
def test_a_value_that_warm_up_read_from_the_batch_is_not_that_of_the_next_one(read: str) -> None:
    pytest.importorskip("numpy")
    state = SimpleNamespace(x=torch.ones(SIZE), scale=None)
    report = check(making(scaling(READS[read], "x"), state), [BATCH], inputs=[state.x])
    assert LeakKind.STATE in kinds(report)
    assert report.leaks[0].what == "scale"
    (constant,) = (leak for leak in report.leaks if leak.kind is LeakKind.CONSTANT)
    assert constant.where is not None
    assert constant.where.line == line_of(scaling, "return state.x * state.scale")
    assert constant.origin is not None
    assert "READS" not in constant.origin.path


def test_a_value_that_warm_up_read_from_what_no_batch_changes_is_harmless() -> None:
    pytest.importorskip("numpy")
    state = SimpleNamespace(x=torch.ones(SIZE), constant=torch.full((SIZE,), 2.0), scale=None)

    def read(tensor: Any) -> float:
        return sum(one(tensor) for one in READS.values())

    report = check(making(scaling(read, "constant"), state), [BATCH], inputs=[state.x])
    assert (report.leaks, report.lazy) == ((), ("scale: None -> 14.0, shared with capture",))


def test_a_value_that_warm_up_read_and_nothing_uses_is_harmless() -> None:
    state = SimpleNamespace(x=torch.ones(SIZE), scale=None)
    report = check(making(scaling(READS["item"], "x", used=False), state), [BATCH], inputs=[state.x])
    assert (report.leaks, report.lazy) == ((), ("scale: None -> 2.0, shared with capture",))


# --- what may be taken for granted ------------------------------------------------------------------------


class Layer(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(SIZE), requires_grad=False)
        self.register_buffer("scale", torch.ones(SIZE))


def cached(name: str) -> Callable[[Any], Any]:
    """Computes something once, from one of the tensors of a state."""

    def forward(state: Any) -> Any:
        if "cache" not in state:
            source = state["layer"]
            for part in name.split("."):
                source = source[part] if isinstance(source, dict) else getattr(source, part)
            state["cache"] = source * 2
        return state["layer"].weight + state["cache"]

    return forward


@pytest.mark.parametrize(("name", "leaks"), [("weight", False), ("scale", False), ("x", True)])
def test_what_a_module_keeps_is_the_same_for_every_batch(name: str, leaks: bool) -> None:
    layer = Layer()
    layer.x = torch.ones(SIZE)
    report = check(making(cached(name), {"layer": layer}), [BATCH])
    assert (LeakKind.MEMORY in kinds(report)) is leaks
    assert bool(report.lazy) is not leaks
    # What is declared counts in place of what is guessed.
    if leaks:
        assert kinds(check(making(cached(name), {"layer": layer}), [BATCH], inputs=[])) == []
        return
    kept = [getattr(layer, name)]
    declared = check(making(cached(name), {"layer": layer}), [BATCH], inputs=kept)
    assert LeakKind.MEMORY in kinds(declared)
    persistent = check(making(cached(name), {"layer": layer}), [BATCH], inputs=[], persistent=kept)
    assert LeakKind.MEMORY in kinds(persistent)


def test_memory_that_nothing_wrote_is_named_with_the_line_that_reads_it() -> None:
    def forward(state: Any) -> Any:
        return torch.empty(SIZE) + state.x

    report = check(making(forward, SimpleNamespace(x=torch.ones(SIZE))), [BATCH])
    (leak,) = report.leaks
    assert leak.kind is LeakKind.MEMORY
    assert leak.message == (
        "aten::add.Tensor reads memory that nothing has written; a replay reads whatever was left there"
    )
    assert leak.where is not None
    assert (leak.where.path, leak.where.line) == (__file__, forward.__code__.co_firstlineno + 1)
    assert leak.origin is None


def counting(state: Any, *, used: bool) -> Callable[[BatchDescriptor, Phase], Any]:
    """Counts its captured runs, and may go by the number."""

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        def forward(mode: Mode) -> Any:
            if phase is Phase.CAPTURE:
                state.steps += 1
                state.last = state.x * 2
            return state.x * (state.steps if used else 2)

        return forward, state

    return create


def test_what_the_captured_run_does_to_python_is_a_side_effect_where_it_matters() -> None:
    state = SimpleNamespace(x=torch.ones(SIZE), steps=0, last=None)
    second = BatchDescriptor(Mode.FULL, 2)
    leaks = check(counting(state, used=True), [BATCH, second]).leaks
    effect = next(leak for leak in leaks if leak.kind is LeakKind.SIDE_EFFECT)
    assert (effect.descriptor, effect.what) == ("FULL tokens=2", "steps")
    assert effect.message == "steps: 1 -> 2 while capturing; no replay repeats it"
    state.steps = 0
    assert check(counting(state, used=False), [BATCH, second]).leaks == ()


@pytest.mark.parametrize("device", [None, "cpu"])
def test_a_read_on_the_host_inside_the_region_is_reported_with_its_line(device: Any) -> None:
    def forward(state: Any) -> Any:
        return state.x * state.x.sum().item()

    (leak,) = check(making(forward, SimpleNamespace(x=torch.ones(SIZE))), [BATCH], device=device).leaks
    assert leak.kind is LeakKind.HOST_READ
    assert leak.where is not None
    assert (leak.where.path, leak.where.line) == (__file__, forward.__code__.co_firstlineno + 1)
    assert leak.message.endswith(" waits for the device, which a capture refuses")


def test_the_device_that_is_asked_for_is_used() -> None:
    with pytest.raises(ValueError, match="not on meta"):
        check(making(lambda state: state, None), [BATCH], device="meta")


def test_a_failure_that_is_no_refusal_is_raised() -> None:
    def fails(state: Any) -> Any:
        raise KeyError("no such layer")

    with pytest.raises(CaptureFailedError, match="warming up FULL tokens=4 failed: KeyError"):
        check(making(fails, None), [BATCH])
    with pytest.raises(CaptureFailedError, match="capturing FULL tokens=4 failed: KeyError"):
        check(failing(Phase.CAPTURE, KeyError("no such layer")), [BATCH])
    # What a device says while nothing is captured is no refusal either.
    with pytest.raises(CaptureFailedError, match="warming up FULL tokens=4 failed: RuntimeError"):
        check(failing(Phase.WARMUP, RuntimeError(REFUSED)), [BATCH])


REFUSED = "CUDA error: operation not permitted when stream is capturing"


def failing(where: Phase, error: Exception) -> Any:
    """Fails in one phase."""

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        def forward(mode: Mode) -> Any:
            if phase is where:
                raise error

        return forward, None

    return create


def test_what_a_device_refuses_is_a_read_on_the_host() -> None:
    (leak,) = check(failing(Phase.CAPTURE, RuntimeError(REFUSED)), [BATCH]).leaks
    assert (leak.kind, leak.what, leak.descriptor) == (LeakKind.HOST_READ, "an operation", "FULL tokens=4")
    assert leak.message == "an operation waits for the device, which a capture refuses"
    assert leak.where is not None
    assert (leak.where.path, leak.where.function) == (__file__, "failing.<locals>.create.<locals>.forward")


def test_a_refusal_that_names_no_line_gets_the_last_one_of_the_program_itself() -> None:
    assert _innermost(None) is None
    try:
        torch.ones(2).reshape(3)
    except RuntimeError as error:
        found = _innermost(error)
        assert found is not None
        trace = error.__traceback__
        assert trace is not None
        assert found == Frame(__file__, trace.tb_lineno, trace.tb_frame.f_code.co_qualname)
    for folder in ("torch", "coldfork"):
        code = compile("def inner():\n    raise ValueError\n\ninner()\n", f"/site/{folder}/x.py", "exec")
        try:
            exec(code, {})
        except ValueError as error:
            found = _innermost(error)
            assert found is not None
            assert found.path == __file__


# --- a device's graph, which records nothing by itself ---------------------------------------------------


def test_where_a_graph_records_nothing_the_steps_that_were_watched_are_its_own() -> None:
    x, cache = torch.ones(SIZE), torch.zeros(SIZE)
    inspector = Inspector(inputs=[x])
    state = SimpleNamespace(x=x, cache=cache)

    def warm_up(forward: Callable[[], Any]) -> None:
        with inspector.building(BATCH, Phase.WARMUP):
            pass
        with inspector.warming_up(forward, state):
            forward()
        with inspector.building(BATCH, Phase.CAPTURE):
            pass

    warm_up(lambda: cache.copy_(x * 3))
    with inspector.capturing(lambda: None, state):
        cache + 1
        inspector.captured(object())
        assert not inspector._steps
        x + 1
        inspector.captured(object())
    (leak,) = inspector.report().leaks
    assert (leak.kind, leak.what) == (LeakKind.MEMORY, "aten::add.Tensor")
    # The second graph has no step of the first: what the first reads is told of once.
    inspector.captured(object())
    warm_up(lambda: x * 2)
    inspector.captured(object())
    assert inspector.report().leaks == ()


def test_memory_that_a_watched_region_only_makes_holds_nothing_yet() -> None:
    x = torch.ones(SIZE)
    inspector = Inspector(inputs=[x])
    with inspector.building(BATCH, Phase.WARMUP):
        pass
    with inspector.capturing(lambda: None, None):
        empty, full = torch.empty(SIZE), torch.empty(SIZE)
        full.copy_(x)
        empty + full
        inspector.captured(object())
    (leak,) = inspector.report().leaks
    assert (leak.what, leak.message.partition(";")[0]) == (
        "aten::add.Tensor",
        "aten::add.Tensor reads memory that nothing has written",
    )


def test_what_another_graph_wrote_is_foreign_and_what_this_one_wrote_is_not() -> None:
    x, shared = torch.ones(SIZE), torch.zeros(SIZE)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        def forward(mode: Mode) -> Any:
            if descriptor.tokens == SIZE and phase is Phase.CAPTURE:
                shared.copy_(x)
                return shared * 2
            return shared * 2 if phase is Phase.CAPTURE else x * 2

        return forward, None

    first, second = BATCH, BatchDescriptor(Mode.FULL, 2)
    assert check(create, [first], inputs=[x]).leaks == ()
    (leak,) = check(create, [first, second], inputs=[x]).leaks
    assert leak.descriptor == "FULL tokens=2"
    assert "reads what aten::copy_ wrote in the graph of FULL tokens=4" in leak.message


# --- whose bytes they are --------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [8, 1 << 20, (1 << 26) + 1], ids=str)
def test_memory_is_known_byte_by_byte_at_any_size(size: int) -> None:
    ledger = Ledger()
    tensor = torch.empty(size, dtype=torch.int8)
    assert ledger.last_writers(tensor[:4]) == [BEFORE]
    assert ledger.last_writers(tensor[:0]) == []
    assert [writer.depends for writer in ledger.writers] == [False, True]
    number = ledger.new_writer(Writer("copy", None, CheckedRun("batch", "warm-up"), False))
    assert (number, NOTHING) == (2, 1)
    ledger.write(tensor[:4], number)
    assert ledger.last_writers(tensor[:4]) == [2]
    assert ledger.last_writers(tensor[4:8]) == [BEFORE]
    assert ledger.last_writers(tensor[2:6]) == [BEFORE, 2]
    assert ledger.last_writers(tensor) == ledger.writers_of(tensor.untyped_storage()._cdata) == [BEFORE, 2]
    ledger.write(tensor, NOTHING)
    assert ledger.last_writers(tensor[2:6]) == ledger.last_writers(tensor) == [NOTHING]
    ledger.write(tensor[4:5], number)
    assert ledger.last_writers(tensor) == [NOTHING, 2]


def test_memory_that_grew_is_known_where_it_was_written() -> None:
    ledger = Ledger()
    tensor = torch.empty(4)
    ledger.write(tensor, 2)
    ledger.write(tensor.resize_(8)[6:], 3)
    assert [ledger.last_writers(tensor[start : start + 2]) for start in (0, 2, 4, 6)] == [
        [2],
        [2],
        [NOTHING],
        [3],
    ]


def test_a_view_is_known_by_its_bytes_whatever_its_strides_and_type() -> None:
    ledger = Ledger()
    matrix = torch.zeros(4, 4, dtype=torch.float32)
    ledger.write(matrix[:, 1], 1)
    assert [ledger.last_writers(matrix[:, column]) for column in range(4)] == [[0], [1], [0], [0]]
    assert ledger.last_writers(matrix.t()[1]) == [1]
    halves = matrix.view(torch.int16)
    assert [ledger.last_writers(halves[:, column]) for column in range(1, 5)] == [[0], [1], [1], [0]]
    ledger.write(halves[:, 2], 0)
    assert ledger.last_writers(matrix[:, 1]) == [0, 1]


def test_memory_that_is_gone_is_forgotten_and_what_lives_is_not() -> None:
    ledger = Ledger()
    kept, gone = torch.zeros(3), torch.zeros(3)
    ledger.write(kept, 1)
    ledger.write(gone, 1)
    del gone
    ledger.forget_dead()
    assert len(ledger._pages) == 1
    assert ledger.last_writers(kept) == [1]


# --- pieces ----------------------------------------------------------------------------------------------


def captured(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Any, list[Any]]:
    part, seen = piece(function), list[Any]()
    capturing = CapturingPass(VirtualEngine("cpu"), None, seen.append)
    output = capturing.run(part, args, kwargs)
    assert len(seen) == 1
    return part, output, capturing.pieces


def test_a_piece_has_run_when_it_is_captured() -> None:
    x, out = torch.ones(SIZE), torch.zeros(SIZE)
    _, output, _ = captured(lambda x: out.copy_(x * 3), x)
    assert out.tolist() == [3.0] * SIZE
    assert output.tolist() == [3.0] * SIZE


def test_a_piece_takes_other_tensors_of_the_same_kind_and_the_same_constants() -> None:
    part, output, pieces = captured(lambda x, scale, *, add: x * scale + add, torch.ones(SIZE), 2.0, add=1)
    x = torch.full((SIZE,), 5.0)
    replayed = ReplayingPass(pieces).run(part, (x, 2.0), {"add": 1})
    assert replayed is output
    assert replayed.tolist() == [11.0] * SIZE
    nan = float("nan")
    part, output, pieces = captured(lambda x, scale: x * scale, torch.ones(SIZE), nan)
    ReplayingPass(pieces).run(part, (x, nan), {})


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((torch.ones(SIZE), 3.0), {}, "was captured with 2.0, and is now given 3.0"),
        ((torch.ones(SIZE), 2.0, 1), {}, "is called with different arguments than it was captured with"),
        ((torch.ones(SIZE),), {"scale": 2.0}, "is called with different arguments"),
        ((torch.ones(3), 2.0), {}, r"with \(4,\) of torch.float32, and is now given \(3,\) of torch.float32"),
        ((torch.ones(SIZE).int(), 2.0), {}, r"and is now given \(4,\) of torch.int32"),
        ((torch.ones(SIZE, device="meta"), 2.0), {}, "was captured with"),
    ],
)
def test_a_piece_refuses_what_it_was_not_captured_for(args: Any, kwargs: Any, words: str) -> None:
    def scaled(x: Any, scale: float, *rest: Any) -> Any:
        return x * scale

    part, _, pieces = captured(scaled, torch.ones(SIZE), 2.0)
    with pytest.raises(InputError, match=f"the piece {scaled.__qualname__} .*{words}"):
        ReplayingPass(pieces).run(part, args, kwargs)


def test_pieces_are_called_in_their_order_and_as_often() -> None:
    part, _, pieces = captured(lambda x: x * 2, torch.ones(SIZE))
    other = piece(lambda x: x)
    with pytest.raises(GraphError, match="in the order in which this batch was captured"):
        ReplayingPass(pieces).run(other, (torch.ones(SIZE),), {})
    replaying = ReplayingPass(pieces)
    replaying.run(part, (torch.ones(SIZE),), {})
    with pytest.raises(GraphError, match="in the order in which this batch was captured"):
        replaying.run(part, (torch.ones(SIZE),), {})


def test_a_piece_in_a_piece_is_part_of_it() -> None:
    inner = piece(lambda x: x * 2)
    capturing = CapturingPass(VirtualEngine("cpu"), None, lambda graph: None)
    token = CURRENT.set(capturing)
    try:
        output = piece(lambda x: inner(x) + 1)(torch.ones(SIZE))
        assert CURRENT.get() is capturing
    finally:
        CURRENT.reset(token)
    assert output.tolist() == [3.0] * SIZE
    assert len(capturing.pieces) == 1
    assert inner(torch.ones(1)).tolist() == [2.0]


# --- words -----------------------------------------------------------------------------------------------


def test_a_report_writes_out_the_first_leaks_of_each_batch() -> None:
    assert str(Report()).startswith("clean: ")
    where, origin = Frame("engine.py", 3, "forward"), Frame("engine.py", 9, "build")
    leaks = [Leak(LeakKind.MEMORY, "FULL", "add", f"leak {number}") for number in range(13)]
    leaks.append(Leak(LeakKind.STATE, "other", "flag", "set\nhere", where, origin))
    lines = str(Report(tuple(leaks))).splitlines()
    assert lines[:2] == ["FULL: a replay would not do what an eager run does", "  [memory] leak 0"]
    assert lines[12:-1] == [
        "  [memory] leak 11",
        "  and 1 more, in .leaks",
        "other: a replay would not do what an eager run does",
        "  [state] set",
        "  here",
        "    read at engine.py:3 in forward",
        "    left there by engine.py:9 in build",
    ]
    assert lines[-1].startswith("make the state anew for the capture")
    assert "more, in" not in str(Report(tuple(leaks[1:])))


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (RuntimeError("CUDA error: an illegal memory access was encountered"), True),
        (RuntimeError("HIP error: unspecified launch failure"), True),
        (RuntimeError("CUDA error: operation not permitted when stream is capturing"), False),
        (RuntimeError("CUDA error: operation would make the legacy stream depend on a capturing"), False),
        (RuntimeError("CUDA error: operation failed due to a previous error during capture"), False),
        (RuntimeError("CUDA error: out of memory"), False),
        (RuntimeError("shape mismatch"), False),
        (ValueError("CUDA error: an illegal memory access was encountered"), False),
    ],
)
def test_a_device_is_lost_when_it_says_so_itself(error: BaseException, lost: bool) -> None:
    assert is_lost(error) is lost
    assert is_lost(copy.copy(error)) is lost
