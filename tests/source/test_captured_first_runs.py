"""What a first run leaves for the capture: what was computed of a batch is told, what was prepared is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.source.expectations import findings_of, lay_out

pytestmark = pytest.mark.once

PROGRAM = """import torch

class Engine:
    def forward(self, x: torch.Tensor, metadata):
        if metadata.plan is None:
            {first}
        return x + metadata.plan + metadata.buffer

    def capture(self, x: torch.Tensor, metadata):
        self.forward(x, metadata)
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            return self.forward(x, metadata)
"""


def verdict(first: str, folder: Path) -> str | None:
    """How sure it is that the capture reuses what the first run left; None where nothing is said of it."""
    lay_out(PROGRAM.format(first=first), folder)
    found = [one for one in findings_of(folder) if one.rule == "capture-reuses-warmup-state"]
    assert len(found) <= 1
    return found[0].verdict.value if found else None


COMPUTING = [
    "cumsum", "cumprod", "index_select", "gather", "masked_fill", "argsort", "topk", "softmax", "matmul",
    "bmm", "repeat_interleave", "logical_and", "amax", "argmax", "clamp", "floor_divide", "contiguous",
    "abs", "exp", "sqrt", "rsqrt", "sigmoid", "tanh", "relu", "log_softmax", "norm", "square", "amin",
    "logical_or", "logical_not", "index_add", "scatter_add", "masked_select", "tril", "triu",
]  # fmt: skip


@pytest.mark.parametrize("method", COMPUTING)
def test_what_only_tensors_compute_depends_on_the_batch(method: str, tmp_path: Path) -> None:
    assert verdict(f"metadata.plan = metadata.lengths.{method}(0)", tmp_path) == "certain"


WRITING = [
    "copy_", "add_", "mul_", "sub_", "div_", "clamp_", "cumsum_", "index_copy_", "index_fill_",
    "scatter_", "scatter_add_", "masked_fill_", "fill_", "zero_",
]  # fmt: skip


@pytest.mark.parametrize("method", WRITING)
def test_what_is_written_of_the_batch_depends_on_it(method: str, tmp_path: Path) -> None:
    first = f"metadata.buffer.{method}(metadata.lengths); metadata.plan = 1"
    assert verdict(first, tmp_path) == "certain"


@pytest.mark.parametrize("method", ["zero_()", "fill_(0)"])
def test_what_is_erased_is_the_same_for_every_batch(method: str, tmp_path: Path) -> None:
    assert verdict(f"metadata.buffer.{method}; metadata.plan = 1", tmp_path) is None


@pytest.mark.parametrize(
    "method",
    [
        "size", "dim", "numel", "stride", "element_size", "is_contiguous", "data_ptr", "storage_offset",
        "ndimension", "is_floating_point", "get_device", "untyped_storage",
    ],
)  # fmt: skip
def test_the_shape_is_the_same_for_every_batch(method: str, tmp_path: Path) -> None:
    assert verdict(f"metadata.plan = x.{method}()", tmp_path) is None


@pytest.mark.parametrize(
    ("first", "wanted"),
    [
        ("metadata.plan = x + 1", "certain"),
        ("metadata.plan = x.sum()", "certain"),
        ("metadata.plan = torch.cumsum(metadata.lengths, 0)", "certain"),
        ("torch.cumsum(x, 0, out=metadata.buffer); metadata.plan = 1", "certain"),
        ("metadata.plan = [x + 1]", "certain"),
        ("metadata.plan = torch.zeros(4)", None),
        ("metadata.plan = torch.empty_like(x)", None),
        ("metadata.plan = True", None),
        ("metadata.plan = torch.cuda.Stream()", None),
        ("metadata.plan = build(x)", None),
        ("metadata.plan = kernels.compile_for(x)", None),
        ("metadata.plan = kernels.tuned(x)", None),
        ("metadata.plan = kernels.load(x)", None),
        ("metadata.plan = kernels.choose(x)", None),
        ("metadata.plan = kernels.configure(x)", None),
        ("metadata.plan = kernels.run(x)", "conditional"),
        ("metadata.plan = kernels.run(1)", None),
        ("x + 1; metadata.plan = True", None),
        ("metadata.plan = max(metadata.lengths)", None),
        ("metadata.plan = torch.ones(4)[0] + 1", None),
    ],
)
def test_what_a_first_run_leaves(first: str, wanted: str | None, tmp_path: Path) -> None:
    assert verdict(first, tmp_path) == wanted


FLAGS = {
    "if metadata.plan is None:": "certain",
    "if not metadata.plan:": "certain",
    "if metadata.plan == None:": "certain",
    "if metadata.plan == 0:": "certain",
    "if metadata.plan is False:": "certain",
    "if not hasattr(metadata, 'plan'):": "certain",
    "if getattr(metadata, 'plan', None) is None:": "certain",
    "if 'plan' is None:": None,
    "if metadata.plan is not None:": None,
    "if metadata.other is None:": None,
    "if metadata.plan == 2:": None,
    "if metadata.plan is None and metadata.wanted:": "conditional",
    "if metadata.plan is None or metadata.wanted:": "certain",
    "if metadata.wanted and not metadata.plan:": "conditional",
}


@pytest.mark.parametrize("test", FLAGS)
def test_which_tests_ask_for_a_flag(test: str, tmp_path: Path) -> None:
    lay_out(
        PROGRAM.format(first="metadata.plan = x + 1").replace("if metadata.plan is None:", test), tmp_path
    )
    found = [one for one in findings_of(tmp_path) if one.rule == "capture-reuses-warmup-state"]
    assert [one.verdict.value for one in found] == ([FLAGS[test]] if FLAGS[test] else [])


def test_what_a_first_run_leaves_in_every_item(tmp_path: Path) -> None:
    source = """import torch

class Engine:
    def forward(self, x: torch.Tensor, metadata):
        for layer in metadata:
            if layer.plan is None:
                layer.plan = x + 1
            x = x + layer.plan
        return x

    def capture(self, x: torch.Tensor, metadata):
        self.forward(x, metadata)
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            return self.forward(x, metadata)
"""
    lay_out(source, tmp_path)
    assert [(one.rule, one.line, one.condition) for one in findings_of(tmp_path)] == [
        ("capture-reuses-warmup-state", 13, "the loop at line 5 of m runs")
    ]
