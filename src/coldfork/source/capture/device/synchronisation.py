"""Which calls make the host wait for the device, or read from it: a stream that is captured refuses them."""

from __future__ import annotations

import re
from typing import NamedTuple

from coldfork.source.capture.objects import Object, Tensor, Value
from coldfork.source.values.kinds import Const

#: Functions that wait for the whole device.
WAITING = frozenset(
    {
        "torch.cuda.synchronize",
        "torch.accelerator.synchronize",
        "torch.xpu.synchronize",
        "torch.hip.synchronize",
    }
)
#: What these give belongs to the stream that is captured.
CURRENT_STREAM = frozenset({"torch.cuda.current_stream", "torch.accelerator.current_stream"})
_WAITED_FOR = frozenset({"torch.cuda.Stream", "torch.cuda.Event", "torch.Stream", "torch.Event"})
#: Functions whose result has a size that only the device knows, or that answer to the host.
_READING = frozenset(
    {"nonzero", "argwhere", "unique", "unique_consecutive", "masked_select", "equal", "allclose"}
)
#: Methods of a tensor that read it on the host.
_HOST_METHODS = frozenset(
    {"item", "tolist", "cpu", "numpy", "nonzero", "unique", "masked_select", "argwhere"}
)
#: Functions that make a tensor of what the host holds.
_FROM_HOST = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray", "torch.from_numpy"})
_HOST = re.compile(r"(?:^|[._])(?:cpu|np|numpy|host|pinned|list)(?:$|[._\[(])")
#: Questions that a tensor answers without being read.
SHAPE = frozenset(
    {
        "shape", "device", "dtype", "ndim", "is_cuda", "layout", "itemsize", "nbytes", "requires_grad",
        "names", "size", "dim", "numel", "stride", "element_size", "is_contiguous", "data_ptr",
        "storage_offset",        "ndimension", "is_floating_point", "get_device", "untyped_storage",
    }
)  # fmt: skip
#: Functions of torch that make a tensor of what is no tensor: the same for every batch.
_MAKING = frozenset(
    {
        "empty", "zeros", "ones", "full", "arange", "linspace", "eye", "rand", "randn", "randint",
        "empty_like", "zeros_like", "ones_like", "full_like", "empty_strided", "tril_indices",
        "triu_indices",
    }
)  # fmt: skip
FACTORIES = _MAKING | {"Generator", "device", "finfo", "iinfo", "dtype", "Size", "Stream", "Event"}
_LIKE = frozenset({"empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like"})


class Sync(NamedTuple):
    """A call that a capture refuses: what has to be so of the value, and whether that could be narrowed."""

    condition: str
    possible: bool = False


SURE = Sync("")


def of_function(name: str, arguments: list[Value], keywords: dict[str, Value]) -> Sync | None:
    """Whether calling a function of torch's waits for the device."""
    if name in WAITING:
        return SURE
    if name in _FROM_HOST and arguments:
        return _from_host(name, arguments[0], keywords.get("device"))
    root, _, last = name.rpartition(".")
    if root == "torch" and arguments and (last in _READING or (last == "where" and len(arguments) == 1)):
        return _of_tensor(arguments[0], True)
    return None


def _from_host(name: str, given: Value, device: Value | None) -> Sync | None:
    """Whether making a tensor of what the host holds copies it to the device, which waits for the copy."""
    if type(given) is Object and (given.tensor is not None or not given.kind):
        return None  # it may be a tensor of the device
    wanted = device_of(device)
    if wanted is None and not isinstance(given, Const):
        return Sync("new tensors are made on the GPU", True)
    return SURE if wanted == "cuda" else Sync("its device is the GPU") if wanted == "" else None


def of_method(receiver: Value, method: str, text: str, keywords: dict[str, Value]) -> Sync | None:
    """Whether calling a method waits for the device."""
    if method == "synchronize" and type(receiver) is Object:
        if receiver.made_by in CURRENT_STREAM:
            return SURE
        if receiver.made_by in _WAITED_FOR:
            return Sync(f"{text} takes part in the capture")
        return None
    if type(receiver) is not Object or method not in _HOST_METHODS:
        return None
    if method == "unique" and receiver.tensor is None:
        return None  # arrays and tables have one too
    if receiver.tensor is not None:
        return _of_tensor(receiver, True, text)
    if receiver.cls is not None or receiver.typed is not None or _on_host(receiver, text):
        return None
    return Sync(f"{text} is a tensor on the GPU", True)


def _on_host(value: Object, text: str) -> bool:
    """True for an array of numpy's, and for what its name says is kept on the host."""
    return value.made_by.startswith("numpy.") or _HOST.search(text) is not None


def _of_tensor(value: Value, known: bool, text: str = "it") -> Sync | None:
    if type(value) is not Object or value.tensor is None:
        return Sync(f"{text} is on the GPU", True) if type(value) is Object and not known else None
    if value.tensor.device == "cpu" or (not value.tensor.device and _on_host(value, text)):
        return None
    return SURE if value.tensor.device == "cuda" else Sync(f"{text} is on the GPU")


def of_truth(value: Value, text: str) -> Sync | None:
    """Whether asking for the truth of a value, its number or its text reads the device."""
    if type(value) is Object and value.tensor is not None:
        return _of_tensor(value, True, text)
    return None


# -- what is known of tensors ---------------------------------------------------------------------------


def device_of(value: Value | None) -> str | None:
    """`cuda` or `cpu` when a device argument says so, empty when it says something unknown, else None."""
    if isinstance(value, Const):
        if isinstance(value.value, int) and not isinstance(value.value, bool):
            return "cuda"
        if isinstance(value.value, str):
            kind = value.value.partition(":")[0]
            return kind if kind in ("cuda", "cpu") else None
        return None
    if type(value) is Object and value.made_by == "torch.device":
        return device_of(value.parts.get("type"))
    return "" if value is not None else None


def of_torch(name: str, arguments: list[Value], keywords: dict[str, Value]) -> Tensor | None:
    """The tensor that a function of torch's gives; None when it gives no tensor, or nothing is known."""
    root, _, last = name.rpartition(".")
    given = next((placed(a) for a in arguments if type(a) is Object and a.tensor is not None), None)
    if root == "torch":
        if last in _LIKE:
            return given or Tensor()
        if last in _MAKING or last in ("tensor", "as_tensor"):
            return Tensor(device_of(keywords.get("device")) or "")
        if last == "from_numpy":
            return Tensor("cpu")
    if root in ("torch", "torch.nn.functional") and given is not None and not last.startswith("is_"):
        return Tensor(given.device, last in _ASKING)
    return None


def placed(value: Object, text: str = "") -> Tensor | None:
    """A tensor, on the host if a name of it says so and nothing else does."""
    if value.tensor is not None and not value.tensor.device and _on_host(value, text or value.name):
        return Tensor("cpu", value.tensor.mask)
    return value.tensor


#: What gives a tensor of truth values, as a method or as a function of torch's.
_ASKING = frozenset(
    {
        "bool", "eq", "ne", "lt", "le", "gt", "ge", "not_equal", "less", "less_equal", "greater",
        "greater_equal", "isclose", "isnan", "isinf", "isfinite", "isposinf", "isneginf", "logical_not",
        "logical_and", "logical_or", "logical_xor",
    }
)  # fmt: skip
_NO_TENSOR = SHAPE | {"item", "tolist", "numpy", "synchronize", "record_stream", "backward"}


def of_tensor_method(
    tensor: Tensor, method: str, arguments: list[Value], keywords: dict[str, Value]
) -> Tensor | None:
    """The tensor that a method of a tensor gives."""
    if method in _NO_TENSOR:
        return None
    if method == "cpu":
        return Tensor("cpu", tensor.mask)
    if method == "cuda":
        return Tensor("cuda", tensor.mask)
    if method == "to":
        wanted = [device_of(value) for value in (*arguments[:1], keywords.get("device"))]
        device = next((one for one in wanted if one), None)
        return Tensor(device if device is not None else tensor.device if None in wanted else "", tensor.mask)
    return Tensor(tensor.device, method in _ASKING)


def copies_from_host(
    receiver: Object, method: str, arguments: list[Value], keywords: dict[str, Value]
) -> Sync | None:
    """Whether `.to("cuda")` or `.cuda()` waits: of values that were the host's a moment ago."""
    if receiver.made_by not in _FROM_HOST or keywords.get("non_blocking") not in (None, Const(False)):
        return None
    if method == "cuda":
        return SURE
    for value in (*arguments[:1], keywords.get("device")) if method == "to" else ():
        wanted = device_of(value)
        if wanted == "cuda":
            return SURE
        if wanted == "" and type(value) is Object and value.name.rpartition(".")[2] == "device":
            return Sync("its device is the GPU")
    return None


def copies_to_host(method: str, arguments: list[Value], keywords: dict[str, Value]) -> bool:
    """True for `.to("cpu")` that waits."""
    if method != "to" or keywords.get("non_blocking") not in (None, Const(False)):
        return False
    return "cpu" in [device_of(value) for value in (*arguments[:1], keywords.get("device"))]
