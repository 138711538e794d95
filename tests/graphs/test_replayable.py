"""The assertion that an engine's own test suite makes about its graphs."""

from __future__ import annotations

from typing import Any

import pytest

from coldfork.graphs import (
    BatchDescriptor,
    CaptureFailedError,
    LeakError,
    LeakKind,
    Mode,
    Phase,
    assert_replayable,
    check,
    current_state,
)
from tests.graphs.engine import FULL, TOKENS, Engine

torch: Any = pytest.importorskip("torch")


def test_an_engine_that_makes_its_state_anew_passes_and_keeps_its_inputs() -> None:
    engine = Engine()
    engine.x.fill_(7)
    assert_replayable(engine.create, [FULL], inputs=engine.inputs, persistent=[engine.scratch])
    assert engine.x.tolist() == [7.0] * TOKENS


def test_a_leak_of_the_warm_up_fails_with_the_report() -> None:
    engine = Engine()
    with pytest.raises(AssertionError, match="not replayable: FULL tokens=6: a replay would") as failed:
        assert_replayable(engine.create_once(), [FULL], inputs=engine.inputs)
    assert isinstance(failed.value.__cause__, LeakError)
    assert "engine.py" in str(failed.value)


def test_what_cannot_be_captured_fails_with_the_line() -> None:
    x = torch.ones(4)

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        return (lambda mode: x * float(x.sum())), None

    with pytest.raises(AssertionError, match="reads a value of the device on the host") as failed:
        assert_replayable(create, [FULL])
    assert isinstance(failed.value.__cause__, CaptureFailedError)
    assert __file__ in str(failed.value)


def baked() -> tuple[Any, Any]:
    """A program that takes a number of the batch to the host when its state is made."""
    x, lengths = torch.zeros(4), torch.tensor([1, 2, 3, 4])

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        longest = int(lengths[0])
        return (lambda mode: x[:longest].sum() + x), None

    return create, lambda descriptor: {"x": x, "lengths": lengths}


def test_a_value_that_was_baked_into_the_graph_is_found_by_replaying() -> None:
    create, inputs = baked()
    with pytest.raises(AssertionError, match="FULL tokens=6: a replay would not do what an eager run does"):
        assert_replayable(create, [FULL], inputs=inputs)
    assert inputs(FULL)["lengths"].tolist() == [1, 2, 3, 4]


def only_x(create: Any) -> Any:
    """Inputs that leave the lengths out, as who forgot them would."""
    return lambda descriptor: {"x": create[1](descriptor)["x"]}


def test_values_of_the_callers_own_are_compared_too() -> None:
    program = baked()
    create, inputs = program[0], only_x(program)
    assert_replayable(create, [FULL], inputs=inputs, values=lambda one: {"x": torch.ones(4)})
    calls: list[Phase] = []

    def stranger(descriptor: BatchDescriptor, phase: Phase) -> Any:
        calls.append(phase)
        forward, state = create(descriptor, phase)
        return (lambda mode: forward(mode) + (len(calls) > 2)), state

    with pytest.raises(AssertionError, match="FULL tokens=6: output 0 of a replay is not what an eager run"):
        assert_replayable(stranger, [FULL], inputs=inputs, values=lambda one: {"x": torch.ones(4)})


SCALES = {3: 2.0, 917: 5.0}


def by_code(*, leaks: bool) -> tuple[Any, dict[str, Any]]:
    """A program that takes two codes alone, and reads the code on the host if it leaks."""
    x, codes = torch.zeros(4), torch.tensor([3])

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        scale = SCALES[int(codes[0])]
        return (lambda mode: x * (scale if leaks else torch.where(codes == 3, 2.0, 5.0))), None

    return create, {"x": x, "codes": codes}


def test_a_check_compares_values_of_the_callers_own_too() -> None:
    create, inputs = by_code(leaks=True)
    assert check(create, [FULL], inputs=inputs).answer == "not compared"
    chosen: dict[str, Any] = {"inputs": inputs, "values": lambda one: {"codes": torch.tensor([917])}}
    found = check(create, [FULL], **chosen).leaks
    assert [leak.kind for leak in found] == [LeakKind.CONSTANT]
    assert inputs["codes"].tolist() == [3]
    create, chosen["inputs"] = by_code(leaks=False)
    assert check(create, [FULL], **chosen).answer == "clean"


def test_values_for_what_is_no_input_are_told() -> None:
    x = torch.zeros(4)
    create = lambda descriptor, phase: ((lambda mode: x * 2), None)  # noqa: E731
    told = check(create, [FULL], inputs={"x": x}, values=lambda one: {"code": torch.ones(1)})
    assert "values= gives 'code', which is none of inputs=: x" in str(told)


def test_another_structure_of_results_is_told() -> None:
    x = torch.zeros(2)
    calls: list[Phase] = []

    def create(descriptor: BatchDescriptor, phase: Phase) -> Any:
        calls.append(phase)
        return (lambda mode: (x + 1, x + 2) if len(calls) < 3 else (x + 1,)), None

    with pytest.raises(AssertionError, match=r"FULL tokens=6: a replay returns (?s:.)*, and an eager run"):
        assert_replayable(create, [FULL], inputs=lambda one: {"x": x}, values=lambda one: {"x": x + 1})


def test_what_runs_between_pieces_is_given_the_state_of_its_step() -> None:
    engine = Engine()
    batch = BatchDescriptor(Mode.PIECEWISE, TOKENS)

    def current(descriptor: BatchDescriptor, phase: Phase) -> Any:
        return (lambda mode: engine.forward(current_state())), engine.build()

    assert_replayable(current, [batch], inputs=engine.inputs, persistent=[engine.scratch])
    # A state of the closure's own is that of the capture for ever.
    with pytest.raises(AssertionError, match="PIECEWISE tokens=6: a replay would not do what an eager run"):
        assert_replayable(engine.create, [batch], inputs=engine.inputs, persistent=[engine.scratch])
