"""A sample of torch's own database of operators: replay is bit-equal to eager, or refused with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("numpy")

from benchmarks import opinfo, tensors

EVERY = 16
"""Of so many operators one is tried in some mode; `./dev bench opinfo` tries them all in all."""

TROUBLED = (
    "native_batch_norm",
    "_native_batch_norm_legit",
    "nn.functional.binary_cross_entropy",
    "nn.functional.embedding_bag",
    "fft.rfftn",
    "linalg.eig",
    "linalg.svdvals",
    "geqrf",
    "tensor_split",
    "quantile",
    "repeat_interleave",
    "resize_",
    "index_put",
    "dropout",
    "normal",
    "as_strided",
    "view_as_complex",
    "conj",
)
"""Each of them needed something of its own."""


COMPILED = {"aot_eager": 80, "inductor": 260}
"""Of so many operators one is compiled by this backend."""

TROUBLED_COMPILED = (
    "_native_batch_norm_legit",
    "nn.functional.conv2d",
    "div.trunc_rounding",
    "scatter_add",
    "index_put",
)
"""Each of them needed something of its own once it was compiled."""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Torch's threads wait for each other in a busy loop: where others work too, that takes minutes."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.must_hold
@pytest.mark.parametrize("mode", opinfo.MODES)
def test_what_is_not_equal_is_refused_or_explained(mode: str) -> None:
    start = list(opinfo.MODES).index(mode)
    wrong: dict[str, opinfo.Outcome] = {}
    kinds = Counter[str]()
    for case in [*opinfo.cases()[start * EVERY :: EVERY * len(opinfo.MODES)], *opinfo.cases(TROUBLED)]:
        for outcome in opinfo.run(case, mode, 2):
            kinds[outcome.kind] += 1
            if outcome.kind in opinfo.WRONG:
                wrong[outcome.operator] = outcome
    assert not wrong
    assert kinds["equal"] > 50
    assert set(kinds) <= {*opinfo.FINE, "equal-if-watched", "not-capturable"}


def test_a_wrong_replay_would_be_noticed() -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(3)
    assert tensors.compared([x], [x.clone()]) == ("equal", "")
    assert tensors.compared([x], [x + 1e-7])[0] == "value-differs"
    assert tensors.compared([x], [x.double()])[0] == "shape-differs"
    assert tensors.compared([x.reshape(3, 1)], [x.reshape(1, 3).t()])[0] in ("equal", "stride-differs")
    assert tensors.compared([x], [x, x])[0] == "structure-differs"


@pytest.mark.must_hold
@pytest.mark.filterwarnings("ignore:.*torch.jit.script_method.*:DeprecationWarning")
@pytest.mark.parametrize("backend", COMPILED)
def test_what_was_compiled_computes_the_same_in_a_graph(
    backend: str, compiled_code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(compiled_code))
    wrong: dict[str, opinfo.Outcome] = {}
    kinds = Counter[str]()
    for case in [*opinfo.cases()[:: COMPILED[backend]], *opinfo.cases(TROUBLED_COMPILED)]:
        for outcome in opinfo.run(case, "no_grad", 1, backend):
            kinds[outcome.kind] += 1
            if outcome.kind in opinfo.WRONG:
                wrong[outcome.operator] = outcome
    assert not wrong
    assert kinds["equal"] > 6
    assert set(kinds) <= {*opinfo.FINE, "not-capturable"}
