"""Which method captured code calls, with which arguments, and which case it takes: CPython is asked.

A program captures a graph on a stand-in for torch that remembers the lines where a tensor was read while the
graph was being captured. These programs have one way to go, so the analyser must name those lines and no
others, and be certain.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from tests.source.captured_programs.arguments import ARGUMENTS
from tests.source.captured_programs.attributes import ATTRIBUTES
from tests.source.captured_programs.cases import CASES
from tests.source.captured_programs.containers import CONTAINERS
from tests.source.captured_programs.first_runs import FIRST_RUNS
from tests.source.captured_programs.loops import LOOPS
from tests.source.captured_programs.methods import METHODS
from tests.source.captured_programs.nested import NESTED
from tests.source.captured_programs.truths import TRUTHS
from tests.source.expectations import findings_of, lay_out

pytestmark = pytest.mark.once

PROGRAM = """import torch

{definitions}

def capture():
    y = torch.zeros(4, device="cuda")
    run(y)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        run(y)
"""


class Tensor:
    """A tensor that only knows whether it is read while a graph is captured."""

    def __init__(self, reads: list[int], capturing: list[bool]) -> None:
        self._reads = reads
        self._capturing = capturing

    def sum(self) -> Tensor:
        return self

    def __mul__(self, other: object) -> Tensor:
        return self

    def __lt__(self, other: object) -> Tensor:
        return self

    def __gt__(self, other: object) -> Tensor:
        return self

    def item(self) -> int:
        self._read()
        return 1

    def __bool__(self) -> bool:
        self._read()
        return True

    def _read(self) -> None:
        if self._capturing:
            self._reads.append(sys._getframe(2).f_lineno)


def read_lines(source: str, monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The lines where CPython reads a tensor while a graph is captured."""
    reads: list[int] = []
    capturing: list[bool] = []

    @contextmanager
    def graph(_: object) -> Iterator[None]:
        capturing.append(True)
        yield
        capturing.pop()

    torch, cuda = ModuleType("torch"), ModuleType("torch.cuda")
    vars(cuda).update(graph=graph, CUDAGraph=object)
    vars(torch).update(cuda=cuda, zeros=lambda *_, **__: Tensor(reads, capturing))
    monkeypatch.setitem(sys.modules, "torch", torch)
    space: dict[str, object] = {"__name__": "m"}
    exec(source, space)
    capture = space["capture"]
    assert callable(capture)
    capture()
    return set(reads)


def program(definitions: str) -> str:
    """A file that captures what `run` does with a tensor on the GPU."""
    return PROGRAM.format(definitions=definitions.strip())


def reported(source: str, folder: Path) -> dict[int, str]:
    """The lines that the analyser says to read a tensor under capture, and how sure it is."""
    lay_out(source, folder)
    found = [one for one in findings_of(folder) if one.rule == "sync-in-captured-region"]
    return {one.chain.steps[-2].line or 0: one.verdict.value for one in found}


PROGRAMS = METHODS | ARGUMENTS | LOOPS | CASES | CONTAINERS | ATTRIBUTES | TRUTHS | FIRST_RUNS | NESTED


@pytest.mark.parametrize("definitions", PROGRAMS.values(), ids=[name.replace(" ", "-") for name in PROGRAMS])
def test_the_lines_that_read_are_those_that_cpython_reads_at(
    definitions: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = program(definitions)
    wanted = dict.fromkeys(read_lines(source, monkeypatch), "certain")
    assert reported(source, tmp_path) == wanted


#: Of `x` nothing is known but that it is a tensor.
OF_ANY_TENSOR = """import torch

def step(flag, x):
    if not flag:
        return x.sum().item()
    return x

def capture(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        {call}
"""


@pytest.mark.parametrize(
    "call",
    [
        "step(False, x)",
        "step(x=x, flag=False)",
        "step(*(False, x))",
        "step(False, *[x])",
        'step(**{"flag": False, "x": x})',
    ],
)
def test_stars_say_of_any_tensor_what_the_plain_call_says(call: str, tmp_path: Path) -> None:
    assert reported(OF_ANY_TENSOR.format(call=call), tmp_path) == {5: "conditional"}
