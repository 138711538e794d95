"""The refusals of a device while it captures, and of the CPU alone: each named with its line."""

from __future__ import annotations

import copy
import io
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from coldfork.virtual import CaptureError, CaptureRefusedError, NotCapturableError, capture

torch: Any = pytest.importorskip("torch")

NOT_PERMITTED = "CUDA error: operation not permitted when stream is capturing"

_REFUSED: dict[str, Callable[[Any], object]] = {
    ".item()": lambda x: x.sum().item(),
    "bool": lambda x: bool(x.sum() > 0),
    "float": lambda x: float(x.sum()),
    "range": lambda x: range(x.sum().long()),
    "in": lambda x: 1.0 in x,
    "equal": lambda x: torch.equal(x, x),
    ".tolist()": lambda x: x.tolist(),
    ".cpu()": lambda x: x.cpu(),
    '.to("cpu")': lambda x: x.to("cpu"),
    '.to(device="cpu")': lambda x: x.to(device="cpu"),
    "str": str,
    "repr": repr,
    "format": lambda x: f"{x}",
    "save": lambda x: torch.save(x, io.BytesIO()),
    "storage": lambda x: x.untyped_storage().tolist(),
    "nonzero": lambda x: x.nonzero(),
    "mask": lambda x: x[x > 0],
    "assignment by mask": lambda x: x.__setitem__(x > 0, torch.ones(3)),
    "unique": lambda x: x.unique(),
    "masked_select": lambda x: x.masked_select(x > 0),
    "repeat_interleave": lambda x: x.repeat_interleave(x.long()),
    "new host data": lambda x: torch.tensor([1.0, 2.0]),
    "new host data of an operator": lambda x: torch.nn.functional.ctc_loss(
        x.expand(5, 1, 3), x[None, :2].long(), (5,), (2,)
    ),
    "list as index": lambda x: x[[0, 1]],
    "numpy": lambda x: torch.from_numpy(pytest.importorskip("numpy").ones(2)),
    "manual_seed": lambda x: torch.manual_seed(1),
    "synchronize": lambda x: torch.cpu.synchronize(),
    "split by a computed tensor": lambda x: torch.tensor_split(x, (x[:1] * 1).long()),
    "into a host value": lambda x: torch.tensor(0.0).add_(x[0]),
}


@pytest.mark.must_hold
@pytest.mark.parametrize("refused", _REFUSED.values(), ids=_REFUSED)
def test_a_device_would_refuse_it(refused: Callable[[Any], object]) -> None:
    x = torch.ones(3)
    with pytest.raises(CaptureRefusedError, match=NOT_PERMITTED) as caught, capture():
        refused(x)
    assert caught.value.where is not None
    assert caught.value.where.path == __file__
    assert isinstance(caught.value, torch.AcceleratorError)
    refused(x)


@pytest.mark.parametrize("read", [lambda x: x.numpy(), lambda x: pytest.importorskip("numpy").asarray(x)])
def test_an_array_of_a_device_is_refused_as_torch_refuses_it(read: Callable[[Any], object]) -> None:
    x = torch.ones(3)
    with (
        pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy") as caught,
        capture(),
    ):
        read(x)
    assert isinstance(caught.value, CaptureRefusedError)
    read(x)


_NOT_SIMULATED: dict[str, Callable[[Any], object]] = {
    "deepcopy": copy.deepcopy,
    "dlpack": torch.from_dlpack,
    "to_dlpack": lambda x: torch.utils.dlpack.to_dlpack(x),  # noqa: PLW0108 - looked up in the region
    "sparse": lambda x: x.to_sparse(),
    "enlarged": lambda x: (x + 1).resize_(10),
    "quantized": lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
    "to meta": lambda x: x.to("meta"),
    "nested": lambda x: torch.nested.nested_tensor([x, x[:2]]),
    "nested by a mask": lambda x: torch._nested_tensor_from_mask(
        x.reshape(1, 3, 1), x.reshape(1, 3) > 0, mask_check=False
    ),
}


@pytest.mark.filterwarnings("ignore:.*quantize_per_tensor")
@pytest.mark.parametrize("unknown", _NOT_SIMULATED.values(), ids=_NOT_SIMULATED)
def test_what_cannot_be_simulated_says_so(unknown: Callable[[Any], object]) -> None:
    x = torch.ones(3)
    with pytest.raises(NotCapturableError, match="cannot be captured virtually") as caught, capture():
        unknown(x)
    assert caught.value.where is not None
    assert caught.value.where.path == __file__
    unknown(x)


@pytest.mark.parametrize("kind", ["MultiheadAttention", "TransformerDecoderLayer", "LSTM"], ids=str)
def test_a_module_whose_kernel_leaves_a_result_out_replays_as_it_runs(kind: str) -> None:
    x = torch.randn(2, 5, 16)
    every: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "MultiheadAttention": (
            torch.nn.MultiheadAttention(16, 4, batch_first=True),
            lambda one: one(x, x, x, need_weights=False)[0],
        ),
        "TransformerDecoderLayer": (
            torch.nn.TransformerDecoderLayer(16, 4, 32, batch_first=True),
            lambda one: one(x, x),
        ),
        "LSTM": (torch.nn.LSTM(16, 6, batch_first=True), lambda one: one(x)[0]),
    }
    module, call = every[kind]
    module.eval().requires_grad_(False)
    with torch.no_grad():
        with capture() as graph:
            y = call(module)
        x.add_(1)
        graph.replay()
        torch.testing.assert_close(y, call(module))


def test_a_custom_operator_without_a_fake_is_refused_and_one_with_it_is_captured() -> None:
    library = torch.library.Library("coldfork_test", "FRAGMENT")
    library.define("twice(Tensor x) -> Tensor")
    library.define("thrice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    library.impl("thrice", lambda x: x * 3, "CPU")
    torch.library.register_fake("coldfork_test::thrice", torch.empty_like, lib=library)
    x = torch.ones(3)
    with pytest.raises(NotCapturableError, match="coldfork_test::twice"), capture():
        torch.ops.coldfork_test.twice(x)
    with capture() as graph:
        y = torch.ops.coldfork_test.thrice(x)
    assert y.isnan().all()
    graph.replay()
    assert y.tolist() == [3.0, 3.0, 3.0]


def test_a_refusal_that_is_swallowed_ends_the_capture_all_the_same() -> None:
    x = torch.ones(1)
    previous = "failed due to a previous error during capture"

    def swallowing() -> None:
        with capture():
            with pytest.raises(CaptureRefusedError, match=r"\.item\(\)"):
                x.item()
            with pytest.raises(CaptureRefusedError, match=previous):
                x.add_(1)

    with pytest.raises(CaptureRefusedError, match=previous):
        swallowing()


@pytest.mark.must_hold
@pytest.mark.parametrize("way", ["thread", "pool"])
def test_work_on_another_thread_is_refused(way: str) -> None:
    x = torch.zeros(2)
    caught: list[CaptureError] = []
    done = threading.Event()

    def work() -> None:
        try:
            x.add_(1)
        except CaptureError as error:
            caught.append(error)
        done.set()

    def region() -> None:
        with capture():
            if way == "thread":
                threading.Thread(target=work).start()
            else:
                executor.submit(work)
            done.wait(60)

    with ThreadPoolExecutor(1) as executor:
        executor.submit(int).result()
        with pytest.raises(CaptureRefusedError, match="failed due to a previous error during capture"):
            region()
    assert NOT_PERMITTED in str(caught[0])
    assert "a thread other than the capturing one" in str(caught[0])
    assert x.tolist() == [0.0, 0.0]


def test_a_thread_that_captures_does_not_disturb_the_others() -> None:
    x = torch.ones(3)
    heard: list[object] = []
    captured, looked = threading.Event(), threading.Event()

    def bystander() -> None:
        captured.wait(60)
        heard.append(x.tolist())
        heard.append((x * 2).sum().item())
        with pytest.raises(CaptureError, match="another thread is capturing"), capture():
            pass
        looked.set()

    thread = threading.Thread(target=bystander)
    thread.start()
    with capture() as graph:
        y = x + 1
        captured.set()
        looked.wait(60)
    thread.join(60)
    graph.replay()
    assert heard == [[1.0, 1.0, 1.0], 6.0]
    assert y.tolist() == [2.0, 2.0, 2.0]


def test_everything_is_as_before_after_a_capture() -> None:
    def doors() -> list[object]:
        return [
            vars(torch.Tensor).get("tolist"),
            vars(torch.Tensor).get("to"),
            vars(torch.Tensor)["__repr__"],
            torch.manual_seed,
            torch.cuda.is_current_stream_capturing,
            threading.Thread.start,
            ThreadPoolExecutor.submit,
        ]

    before = doors()
    with capture():
        assert torch.cuda.is_current_stream_capturing()
        assert doors() != before
    assert doors() == before


def test_host_values_without_dimensions_are_constants() -> None:
    x = torch.ones(3)
    with capture() as graph:
        scale = torch.tensor(2.5)
        assert scale.item() == 2.5
        y = x * scale
        y[0] = 7.0
    graph.replay()
    assert y.tolist() == [7.0, 2.5, 2.5]
    assert [memory.kind for memory in graph.records[0].reads] == ["outside", "constant"]


def test_taking_an_address_is_allowed_and_noted() -> None:
    x = torch.ones(3)
    with capture() as graph:
        assert x.data_ptr()
    (where,) = graph.pointers
    assert where is not None
    assert where.path == __file__


def test_moving_to_where_a_tensor_is_already_is_no_work() -> None:
    x = torch.ones(3)
    with capture() as graph:
        y = x.to(x.device)
        z = x.to(torch.float64)
    assert y is x
    graph.replay()
    assert z.dtype is torch.float64
    assert z.tolist() == [1.0, 1.0, 1.0]
