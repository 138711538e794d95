"""Some of torch's modules, and calls of them that take another way, replay as they run or are refused."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytest.importorskip("numpy")

from benchmarks import modules
from benchmarks.opinfo import FINE

#: `./dev bench modules` tries them all in all modes.
#: Of the database, those that keep a state, read lengths on the host, or have a fused way of their own.
NAMES = ("nn.BatchNorm1d", "nn.CTCLoss", "nn.GRU", "nn.LSTM", "nn.MultiheadAttention", "nn.Transformer")


@pytest.mark.once
@pytest.mark.must_hold
def test_a_module_replays_as_it_runs_or_is_refused() -> None:
    outcomes = list(modules.sweep((*NAMES, *modules.others()), ["no_grad"], 1))
    # Of all its samples one has a single element, for which torch foretells another shape than it computes.
    outcomes += modules.sweep(["nn.MultiLabelMarginLoss"], ["no_grad"], 1000)
    wrong = [one for one in outcomes if one.kind not in (*FINE, "equal-but-rounded", "not-capturable")]
    assert wrong == []
    assert {one.kind for one in outcomes} >= {"equal", "refused", "not-capturable"}
