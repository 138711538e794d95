"""Every place in a statement where a tensor can be read, and every name that torch has for doing it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import findings_of, lay_out
from tests.source.test_captured_tensors import verdict

pytestmark = pytest.mark.once

#: Statements that certainly run `y.item()`.
READING = [
    "thing[y.item()]",
    "thing[1:y.item()]",
    "y[y.item()]",
    "thing.a = y.item()",
    "thing[0] = y.item()",
    "y += y.item()",
    "return y.item()",
    "{1: y.item()}",
    "[y.item()]",
    "{y.item()}",
    "(yield y.item())",
    "z: int = y.item()",
    "True and y.item()",
    "None or y.item()",
    "1 and (None or y.item())",
    "not y.item()",
    "y.item() < 1",
    "1 < thing < y.item()",
    "y.item() and thing",
    "-y.item()",
    "1 + y.item()",
    "y.item() + 1",
    "(z := y.item())",
    "f'{y.item()}'",
    "thing(y.item())",
    "thing(*[y.item()])",
    "thing(**{'a': y.item()})",
    "thing(a=y.item())",
    "(lambda: y.item())()",
    "1 if y.item() else 2",
    "y.item() if True else 1",
    "1 if False else y.item()",
    "if y.item(): pass",
    "while y.item(): break",
    "for z in [y.item()]: pass",
    "with thing(y.item()): pass",
]
#: Statements that run it in some cases.
READING_IN_A_CASE = [
    "1 if thing else y.item()",
    "y.item() if thing else 1",
    "thing and y.item()",
    "thing or y.item()",
    "1 and (thing or y.item())",
    "[y.item() for z in thing if z]",
    "for z in thing: y.item()",
    "while thing: y.item()",
]
#: Statements that never run it, or do not in the capture.
NOT_READING = [
    "True or y.item()",
    "False and y.item()",
    "1 if True else y.item()",
    "y.item() if False else 1",
    "lambda: y.item()",
    "thing(lambda: y.item())",
    "if False: y.item()",
    "for z in (): y.item()",
    "while False: y.item()",
]


@pytest.mark.parametrize("statement", READING)
def test_a_read_is_found_wherever_it_stands(statement: str, tmp_path: Path) -> None:
    assert verdict(statement, tmp_path) == "certain"


@pytest.mark.parametrize("statement", READING_IN_A_CASE)
def test_a_read_in_one_case_is_conditional(statement: str, tmp_path: Path) -> None:
    assert verdict(statement, tmp_path) == "conditional"


@pytest.mark.parametrize("statement", NOT_READING)
def test_what_is_not_run_is_not_found(statement: str, tmp_path: Path) -> None:
    assert verdict(statement, tmp_path) is None


@pytest.mark.parametrize(
    "method", ["item", "tolist", "cpu", "numpy", "nonzero", "unique", "masked_select", "argwhere"]
)
def test_methods_that_read(method: str, tmp_path: Path) -> None:
    assert verdict(f"y.{method}()", tmp_path / "gpu") == "certain"
    assert verdict(f"host.{method}()", tmp_path / "host") is None


@pytest.mark.parametrize(
    "name",
    ["nonzero", "argwhere", "unique", "unique_consecutive", "masked_select", "equal", "allclose"],
)
def test_functions_that_read(name: str, tmp_path: Path) -> None:
    assert verdict(f"torch.{name}(y, 1)", tmp_path / "gpu") == "certain"
    assert verdict(f"torch.{name}(host, 1)", tmp_path / "host") is None
    assert verdict(f"elsewhere.{name}(y, 1)", tmp_path / "elsewhere") is None


@pytest.mark.parametrize("root", ["torch.cuda", "torch.accelerator", "torch.xpu", "torch.hip"])
def test_functions_that_wait(root: str, tmp_path: Path) -> None:
    assert verdict(f"{root}.synchronize()", tmp_path) == "certain"


@pytest.mark.parametrize("root", ["torch.cuda", "torch"])
@pytest.mark.parametrize("kind", ["Stream", "Event"])
def test_waiting_for_what_may_be_outside_the_capture(root: str, kind: str, tmp_path: Path) -> None:
    assert verdict(f"{root}.{kind}().synchronize()", tmp_path) == "conditional"


@pytest.mark.parametrize("root", ["torch.cuda", "torch.accelerator"])
def test_waiting_for_the_captured_stream(root: str, tmp_path: Path) -> None:
    assert verdict(f"{root}.current_stream().synchronize()", tmp_path) == "certain"


MAKING = [
    "empty", "zeros", "ones", "full", "arange", "linspace", "eye", "rand", "randn", "randint",
    "empty_strided", "tril_indices", "triu_indices", "tensor", "as_tensor",
]  # fmt: skip


@pytest.mark.parametrize("name", MAKING)
def test_a_tensor_is_where_it_was_made(name: str, tmp_path: Path) -> None:
    assert verdict(f"torch.{name}(1, device='cuda').item()", tmp_path / "gpu") == "certain"
    assert verdict(f"torch.{name}(1, device='cpu').item()", tmp_path / "host") is None
    assert verdict(f"torch.{name}(1).item()", tmp_path / "unknown") == "conditional"


@pytest.mark.parametrize("name", ["empty", "zeros", "ones", "full", "rand", "randn"])
def test_a_tensor_is_where_its_model_is(name: str, tmp_path: Path) -> None:
    assert verdict(f"torch.{name}_like(y).item()", tmp_path / "gpu") == "certain"
    assert verdict(f"torch.{name}_like(host).item()", tmp_path / "host") is None
    assert verdict(f"torch.{name}_like(thing).item()", tmp_path / "unknown") == "conditional"


@pytest.mark.parametrize(
    ("device", "wanted"),
    [
        ("'cuda'", "certain"),
        ("'cuda:1'", "certain"),
        ("0", "certain"),
        ("torch.device('cuda')", "certain"),
        ("torch.device('cuda:0')", "certain"),
        ("'cpu'", None),
        ("torch.device('cpu')", None),
        ("thing", "conditional"),
        ("None", "conditional"),
        ("True", "conditional"),
        ("'meta'", "conditional"),
        ("y.device", "certain"),
        ("host.device", None),
    ],
)
def test_how_a_device_is_written(device: str, wanted: str | None, tmp_path: Path) -> None:
    assert verdict(f"torch.tensor(1, device={device}).item()", tmp_path) == wanted


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("torch.relu(y)", "certain"),
        ("torch.relu(host)", None),
        ("torch.nn.functional.relu(y)", "certain"),
        ("torch.from_numpy(thing)", None),
        ("numpy.zeros(4)", None),
        ("host.cuda()", "certain"),
        ("host.to('cuda')", "certain"),
        ("y.to('cpu', non_blocking=True)", None),
        ("y.sum()", "certain"),
        ("host.sum()", None),
        ("thing.host", None),
        ("thing.np", None),
        ("thing.numpy", None),
        ("thing.pinned", None),
        ("thing.list", None),
        ("thing.cpu_copy", None),
        ("thing.host_copy", None),
        ("thing.hosted", "possible"),
        ("thing.ghost", "possible"),
        ("thing.stuff", "possible"),
    ],
)
def test_where_the_outcome_is(expression: str, wanted: str | None, tmp_path: Path) -> None:
    assert verdict(f"{expression}.item()", tmp_path) == wanted


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("y.to('cpu')", "certain"),
        ("y.to(device='cpu')", "certain"),
        ("y.to(torch.device('cpu'))", "certain"),
        ("y.to('cpu', non_blocking=True)", None),
        ("y.to('cpu', non_blocking=False)", "certain"),
        ("y.to('cuda')", None),
        ("host.to('cpu')", None),
        ("host.to('cuda')", None),
        ("y.to(torch.float16)", None),
        ("if y > 0: pass", "certain"),
        ("if 0 < y: pass", "certain"),
        ("if y == 0: pass", "certain"),
        ("if y is None: pass", None),
        ("if y is not None: pass", None),
        ("if host > 0: pass", None),
        ("if y.shape: pass", None),
        ("if y.numel(): pass", None),
        ("if y.dtype: pass", None),
        ("if y.any(): pass", "certain"),
        ("f'{y}'", "certain"),
        ("f'{host}'", None),
        ("f'{y.shape}'", None),
    ],
)
def test_what_asks_for_the_content(statement: str, wanted: str | None, tmp_path: Path) -> None:
    assert verdict(statement, tmp_path) == wanted


def test_an_item_of_what_is_kept_on_the_host_is_on_the_host(tmp_path: Path) -> None:
    source = """import torch


def step(lengths_cpu, most):
    assert lengths_cpu[0] == most


def capture(x: torch.Tensor, lengths: torch.Tensor, most):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(lengths, most)
        return x
"""
    lay_out(source, tmp_path)
    assert not findings_of(tmp_path)
