"""Which expressions of captured code are tensors on the GPU, and which uses of these wait for the device."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import findings_of, lay_out
from tests.source.test_captured_calls import reported

pytestmark = pytest.mark.once

PROGRAM = """import torch

def capture(thing, x: torch.Tensor):
    y = torch.zeros(4, device="cuda")
    host = torch.zeros(4, device="cpu")
    {before}
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        {statement}
"""
STATEMENT = 8


def verdict(statement: str, folder: Path, before: str = "pass") -> str | None:
    """How sure it is that the statement reads the device; None where nothing is said of it."""
    told = reported(PROGRAM.format(before=before, statement=statement), folder)
    assert set(told) <= {STATEMENT}
    return told.get(STATEMENT)


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("y.item()", "certain"),
        ("host.item()", None),
        ("x.item()", "conditional"),
        ("thing.item()", "possible"),
        ("(-y).item()", "certain"),
        ("(-host).item()", None),
        ("(-x).item()", "conditional"),
        ("(-thing).item()", "possible"),
        ("(y + 1).item()", "certain"),
        ("(1 + y).item()", "certain"),
        ("(host + 1).item()", None),
        ("y[0].item()", "certain"),
        ("host[0].item()", None),
        ("y[y > 0]", "certain"),
        ("y[host > 0]", "certain"),
        ("host[host > 0]", None),
        ("x[x > 0]", "conditional"),
        ("y[(y > 0) & (y < 3)]", "certain"),
        ("y[~(y > 0)]", "certain"),
        ("y[-y]", None),
        ("y[y + 1]", None),
        ("y[0]", None),
        ("(z := y).item()", "certain"),
        ("bool(y)", "certain"),
        ("int(y)", "certain"),
        ("float(host)", None),
        ("print(y)", "certain"),
        ("torch.nonzero(y)", "certain"),
        ("torch.nonzero(host)", None),
        ("torch.nonzero(x)", "conditional"),
        ("torch.nonzero()", None),
        ("torch.where(y)", "certain"),
        ("torch.where(host)", None),
        ("torch.where(y, 1, 0)", None),
        ("torch.where(y > 0, y, host)", None),
        ("numpy.where(y)", None),
        ("thing.where(y)", None),
        ("torch.cuda.synchronize()", "certain"),
        ("torch.cuda.current_stream().synchronize()", "certain"),
        ("torch.cuda.Event().synchronize()", "conditional"),
        ("thing.synchronize()", None),
        ("thing.unique()", None),
        ("x.unique()", "conditional"),
        ("y.unique()", "certain"),
        ("y.cpu()", "certain"),
        ("y.sum()", None),
        ("y.to('cpu')", "certain"),
        ("for z in [y for _ in thing]: z.item()", "certain"),
        ("for z in [host for _ in thing]: z.item()", None),
        ("for z in [*thing]: z.item()", "possible"),
        ("for z in [*thing, y]: z.item()", "certain"),
        ("for z in [*thing, host]: z.item()", "possible"),
    ],
)
def test_what_reads_the_device(statement: str, wanted: str | None, tmp_path: Path) -> None:
    assert verdict(statement, tmp_path) == wanted


#: Methods of a tensor by the number of their arguments, of which torch says whether they give truth values.
ASKING = {
    1: (
        "bool", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "logical_not",
        "abs", "neg", "exp", "floor", "sign", "int", "clone",
    ),
    2: (
        "eq", "ne", "lt", "le", "gt", "ge", "not_equal", "less", "less_equal", "greater", "greater_equal",
        "isclose", "logical_and", "logical_or", "logical_xor", "add", "sub", "maximum", "fmod",
    ),
}  # fmt: skip
METHODS = [(method, count) for count, methods in ASKING.items() for method in methods]


@pytest.mark.parametrize(("method", "count"), METHODS)
def test_an_index_of_truth_values_reads_the_device(method: str, count: int, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    given = [torch.ones(4)] * count
    wanted = "certain" if getattr(torch.Tensor, method)(*given).dtype == torch.bool else None
    assert verdict(f"y[y.{method}({', '.join('y' * (count - 1))})]", tmp_path / "method") == wanted
    if callable(getattr(torch, method, None)):
        assert verdict(f"y[torch.{method}({', '.join('y' * count)})]", tmp_path / "function") == wanted


@pytest.mark.parametrize(
    "name",
    [
        "tensor", "as_tensor", "from_numpy", "is_tensor", "cat", "concat", "stack", "hstack", "vstack",
        "compile", "einsum", "set_num_threads", "manual_seed", "no_grad", "load", "save", "meshgrid",
        "broadcast_tensors", "empty", "zeros", "ones", "full", "arange", "linspace", "eye", "rand", "randn",
        "randint", "empty_strided", "tril_indices", "triu_indices", "Generator", "device", "finfo", "iinfo",
        "dtype", "Size", "Stream", "Event",
    ],
)  # fmt: skip
def test_what_torch_makes_a_tensor_of_is_none_itself(name: str, tmp_path: Path) -> None:
    assert verdict("if thing: pass", tmp_path, f"torch.{name}(thing)") is None


@pytest.mark.parametrize("name", ["relu", "sum", "nn.functional.relu", "nn.functional.softmax"])
def test_what_an_operator_is_called_with_is_a_tensor(name: str, tmp_path: Path) -> None:
    assert verdict("if thing: pass", tmp_path, f"torch.{name}(thing)") == "conditional"


@pytest.mark.parametrize("name", ["other.relu", "torch.nn.Linear", "torch.cuda.synchronize"])
def test_what_other_functions_are_called_with_may_be_anything(name: str, tmp_path: Path) -> None:
    assert verdict("if thing: pass", tmp_path, f"{name}(thing)") is None


PLACES = {
    "one of several arguments": (
        """
import torch

def capture(thing, x: torch.Tensor):
    mask = x > 0
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        thing(
            1,
            x[
                mask
            ],
        )
""",
        {8: "conditional"},
    ),
    "behind a loop that may not run": (
        """
import torch

def capture(things):
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        for thing in things:
            y.item()
        y.item()
""",
        {7: "conditional", 8: "certain"},
    ),
    "in a loop that counts": (
        """
import torch

def capture():
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        for index in range(3):
            y.item()
        for index in range(0):
            y.max().item()
""",
        {7: "certain", 9: "conditional"},
    ),
    "on the line of the capture": (
        """
import torch

def capture():
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()): y.item()
""",
        {5: "certain"},
    ),
    "in the module itself": (
        """
import torch

y = torch.zeros(4, device="cuda")
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    y.item()
""",
        {5: "certain"},
    ),
    "in functions of a file that is read as a whole": (
        """
\x0c
import torch

class Engine:
    def capture(self):
        y = torch.zeros(4, device="cuda")
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            y.item()

def capture():
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        y.max().item()
""",
        {8: "certain", 13: "certain"},
    ),
}


@pytest.mark.parametrize(
    ("source", "wanted"), PLACES.values(), ids=[name.replace(" ", "-") for name in PLACES]
)
def test_where_the_device_is_read(source: str, wanted: dict[int, str], tmp_path: Path) -> None:
    assert reported(source.removeprefix("\n"), tmp_path) == wanted


def told_steps(source: str, folder: Path) -> list[list[str]]:
    """The way to every read, without what is captured and what is read."""
    lay_out(source, folder)
    found = [one for one in findings_of(folder) if one.rule == "sync-in-captured-region"]
    return [[f"{step.symbol}:{step.line}" for step in one.chain.steps[1:-1]] for one in found]


def test_the_way_begins_below_the_capture(tmp_path: Path) -> None:
    source = """import torch

def capture():
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()): y.item()
"""
    assert told_steps(source, tmp_path) == [["capture:5"]]


def test_of_two_ways_the_first_is_told(tmp_path: Path) -> None:
    source = """import torch

def read(y):
    y.item()

def capture():
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        read(y)
        read(y)
"""
    assert told_steps(source, tmp_path) == [["capture:9", "read:4"]]


def test_of_two_ways_the_surest_is_told(tmp_path: Path) -> None:
    source = """import torch

def read(y):
    y.item()

def further(y):
    read(y)

def capture(x: torch.Tensor):
    y = torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        read(x)
        further(y)
        read(x)
"""
    assert told_steps(source, tmp_path) == [["capture:13", "further:7", "read:4"]]
