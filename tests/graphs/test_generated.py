"""Random tensor programs with lazy initialisers: the check speaks exactly when a replay is wrong.

The oracle is eager execution of the same program from fresh state, with inputs that the warm-up never saw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coldfork.graphs import BatchDescriptor, GraphManager, Mode, Phase, check
from tests.amounts import examples

torch: Any = pytest.importorskip("torch")

SIZE = 4
DESCRIPTOR = BatchDescriptor(Mode.FULL, SIZE)


@dataclass(frozen=True)
class Lazy:
    """Something that is computed when it is first needed."""

    of_input: bool
    """From the batch, or the same for every batch."""
    in_place: bool
    """Into memory that is there already, or into new memory."""
    shared: bool
    """Kept by the engine for ever, or made anew with each state."""


@dataclass(frozen=True)
class Program:
    """Steps on a row of values; each step appends one or changes one in place."""

    lazies: tuple[Lazy, ...]
    steps: tuple[tuple[str, int, int], ...]


class Cell:
    """A lazily initialised value."""

    def __init__(self) -> None:
        self.ready = False
        self.memory = torch.zeros(SIZE, dtype=torch.float64)
        self.value: Any = None


class Engine:
    """Runs a program, with buffers that it keeps up to date itself."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.x = torch.zeros(SIZE, dtype=torch.float64)
        self.weight = torch.arange(1.0, SIZE + 1, dtype=torch.float64)
        self.cache = torch.ones(SIZE, dtype=torch.float64)
        self.kept = [Cell() for _ in program.lazies]

    def create(self, descriptor: BatchDescriptor, phase: Phase) -> tuple[Callable[[Mode], Any], Any]:
        """Cells for this state, but for those that the program keeps."""
        cells = [
            kept if lazy.shared else Cell() for lazy, kept in zip(self.program.lazies, self.kept, strict=True)
        ]
        return (lambda mode: self.forward(cells)), cells

    def read(self, number: int, cells: list[Cell]) -> Any:
        """A lazy value, computed if it is not there."""
        lazy, cell = self.program.lazies[number], cells[number]
        if not cell.ready:
            source = self.x if lazy.of_input else self.weight
            if lazy.in_place:
                cell.memory.copy_(source * 3)
                cell.value = cell.memory
            else:
                cell.value = source * 3
            cell.ready = True
        return cell.value

    def forward(self, cells: list[Cell]) -> Any:
        """Every value counts in the result, so that no difference is lost."""
        values = [self.x * 1.0, self.weight]
        for kind, left, right in self.program.steps:
            one, other = values[left % len(values)], values[right % len(values)]
            if kind == "add":
                values.append(one * 0.5 + other)
            elif kind == "scale":
                values.append(one * (right + 2))
            elif kind == "view":
                values.append(torch.cat([one[1:], one.view(2, 2)[0, :1]]))
            elif kind == "in-place":
                values[0][right % SIZE :].add_(one.sum())
            elif kind == "cache":
                self.cache[: 1 + right % SIZE].add_(one.mean())
                values.append(self.cache * 2)
            elif self.program.lazies:
                values.append(self.read(left % len(self.program.lazies), cells) * 0.25)
        return torch.stack(values)


LAZIES = st.builds(Lazy, of_input=st.booleans(), in_place=st.booleans(), shared=st.booleans())
STEPS = st.tuples(
    st.sampled_from(["add", "scale", "view", "in-place", "cache", "lazy", "lazy"]),
    st.integers(0, 9),
    st.integers(0, 9),
)
PROGRAMS = st.builds(
    Program,
    lazies=st.lists(LAZIES, max_size=3).map(tuple),
    steps=st.lists(STEPS, min_size=1, max_size=8).map(tuple),
)
INPUTS = ([0.5, -3.25, 7.0, 2.5], [11.0, 0.125, -6.5, 3.0])


def eager(program: Program, values: list[float]) -> Any:
    """A run from fresh state, without any graph."""
    engine = Engine(program)
    engine.x.copy_(torch.tensor(values, dtype=torch.float64))
    forward, _ = engine.create(DESCRIPTOR, Phase.WARMUP)
    return forward(Mode.NONE)


@pytest.mark.must_hold
@settings(deadline=None, max_examples=examples(3))
@given(program=PROGRAMS)
def test_the_check_speaks_exactly_when_a_replay_is_wrong(program: Program) -> None:
    engine = Engine(program)
    manager = GraphManager("cpu")
    manager.capture(engine.create, [DESCRIPTOR], inputs=lambda _: {"x": engine.x})
    right = True
    for values in INPUTS:
        engine.cache.fill_(1)
        replayed = manager.replay(DESCRIPTOR, x=torch.tensor(values, dtype=torch.float64))
        right = right and torch.equal(replayed, eager(program, values))

    examined = Engine(program)
    report = check(examined.create, [DESCRIPTOR], inputs=[examined.x], persistent=[examined.cache])
    assert bool(report.leaks) is not right, str(report)
    undeclared = Engine(program)
    guess = check(undeclared.create, [DESCRIPTOR], persistent=[undeclared.cache, undeclared.weight])
    assert right or guess.leaks
