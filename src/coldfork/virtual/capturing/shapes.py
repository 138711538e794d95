"""What an operator's results will look like, asked of torch's meta kernels once a shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from coldfork.virtual.capturing.compiler import KeptOut
from coldfork.virtual.capturing.operators import Operator

_LIMIT = 65536
"""How many shapes are remembered; a program that needs more computes some of them anew."""


_OTHERWISE_ON_META = frozenset(
    (
        "aten::native_batch_norm",
        "aten::_native_batch_norm_legit",
        "aten::_native_batch_norm_legit.no_stats",
        "aten::_native_batch_norm_legit_no_training",
        "aten::_batch_norm_with_update",
        "aten::_embedding_bag",
        "aten::_embedding_bag_forward_only",
        "aten::_fft_r2c",
        "aten::linalg_eig",
        "aten::_linalg_svd",
    )
)
"""Their meta kernels answer for other devices; on the CPU some results have other sizes or strides."""


class Unknown(Exception):
    """Torch cannot say what the results look like without computing them."""

    def __init__(self, message: str, waits: bool = False) -> None:
        super().__init__(message)
        self.waits = waits
        """True when a device computes them too, and the host waits for it."""


class Fresh:
    """A new tensor."""

    __slots__ = ("dtype", "nbytes", "size", "stride")

    def __init__(self, tensor: Any) -> None:
        self.size = tuple(tensor.shape)
        self.stride = tensor.stride()
        self.dtype = tensor.dtype
        reach = [step * (size - 1) for size, step in zip(self.size, self.stride, strict=True)]
        self.nbytes = (sum(reach) + 1) * self.dtype.itemsize if tensor.numel() else 0


class Constant:
    """A result that is no tensor, or none at all."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Same:
    """A result that is one of the arguments, counted among all tensors given."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


Result = Fresh | Constant | Same | list[Any]


class Plan:
    """The results of an operator, and the sizes that its `out=` arguments will have."""

    __slots__ = ("outs", "results")

    def __init__(self, results: tuple[Result, ...], outs: tuple[Fresh | None, ...]) -> None:
        self.results = results
        self.outs = outs


def tensors_in(value: Any) -> Iterator[Any]:
    """All tensors of a call's arguments, in their order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from tensors_in(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from tensors_in(one)


def mapped(value: Any, change: Any) -> Any:
    """The arguments of a call with each tensor and device changed."""
    if isinstance(value, torch.Tensor | torch.device):
        return change(value)
    if type(value) is list:
        return [mapped(one, change) for one in value]
    if type(value) is tuple:
        return tuple([mapped(one, change) for one in value])
    if type(value) is dict:
        return {name: mapped(one, change) for name, one in value.items()}
    return value


def key_of(value: Any) -> Any:
    """What the results' looks depend on: everything but the elements of tensors."""
    if isinstance(value, torch.Tensor):
        try:
            laid_out = value.stride()
        except RuntimeError:
            laid_out = value.layout
        return value.shape, laid_out, value.dtype, value.device, value.is_neg(), value.is_conj()
    kind = type(value)
    if kind is list or kind is tuple:
        return (kind, *[key_of(one) for one in value])
    if kind is torch.Generator:
        return id(value)
    return kind, value


class Shapes:
    """Remembers what results look like."""

    def __init__(self) -> None:
        self._plans: dict[Any, Plan] = {}
        self._without_compiler = KeptOut()
        self.computing = False
        """True while torch computes shapes: what it does meanwhile is not the program's doing."""

    def plan(self, operator: Operator, args: Any, kwargs: Any) -> Plan:
        """The results of this call, without computing them."""
        key = (
            operator,
            torch.get_default_dtype(),
            *[key_of(one) for one in args],
            *[(name, key_of(one)) for name, one in kwargs.items()],
        )
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _LIMIT:
                self._plans.clear()
            self.computing = True
            try:
                with self._without_compiler:
                    plan = self._plans[key] = infer(operator, args, kwargs)
            finally:
                self.computing = False
        return plan


def infer(operator: Operator, args: Any, kwargs: Any) -> Plan:
    """Let the meta kernel of an operator say what its results look like."""
    for tensor in tensors_in((args, kwargs)):
        if tensor.layout is not torch.strided or tensor.is_quantized or tensor.device.type != "cpu":
            raise Unknown(
                f"its argument is {tensor.layout} on {tensor.device}; only plain CPU tensors are simulated"
            )
    if operator.short.startswith(("index_put", "_index_put")) and _selects(*args[1:3]):
        raise Unknown("a mask selects the elements that several values go to", waits=True)
    stand_ins: dict[int, Any] = {}

    def meta(value: Any) -> Any:
        if isinstance(value, torch.device):
            return torch.device("meta")
        known = stand_ins.get(id(value))
        if known is None:
            known = stand_ins[id(value)] = _stand_in(value)
        return known

    def scratch(value: Any) -> Any:
        if isinstance(value, torch.device):
            return value
        known = stand_ins.get(id(value))
        if known is None:
            known = stand_ins[id(value)] = _scratch(value)
        return known

    tried = operator.name in _OTHERWISE_ON_META
    if not tried:
        try:
            results, given = _called(operator, mapped(args, meta), mapped(kwargs, meta))
        except NotImplementedError as error:
            if operator.refusable or not operator.name.startswith("aten::"):
                raise Unknown(str(error).splitlines()[0], waits=operator.refusable) from None
            tried = True
            stand_ins.clear()
    if tried:
        results, given = _tried(operator, mapped(args, scratch), mapped(kwargs, scratch))
    listed = (results,) if operator.single else tuple(results or ())
    outs = tuple(_grown(one, args, kwargs, stand_ins) for one in operator.outs)
    return Plan(tuple([_described(one, given) for one in listed]), outs)


def _stand_in(tensor: Any) -> Any:
    stand_in = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
    if tensor.is_conj():
        stand_in = torch._conj(stand_in)
    if tensor.is_neg():
        stand_in = torch._neg_view(stand_in)
    return stand_in


def _described(value: Any, given: list[int]) -> Result:
    if isinstance(value, torch.Tensor):
        return Same(given.index(id(value))) if id(value) in given else Fresh(value)
    if isinstance(value, list | tuple):
        return [_described(one, given) for one in value]
    return Constant(value)


def _selects(indices: Any, values: Any) -> bool:
    """Whether a mask decides how many values are needed; a single value goes everywhere by itself."""
    return values.numel() != 1 and any(one.dtype in (torch.bool, torch.uint8) for one in tensors_in(indices))


def _called(operator: Operator, args: Any, kwargs: Any) -> tuple[Any, list[int]]:
    with torch.no_grad():
        try:
            results = operator.func(*args, **kwargs)
        except RuntimeError as error:
            if operator.refusable and "meta" in str(error):
                raise Unknown(str(error), waits=True) from None
            raise
    return results, [id(one) for one in tensors_in((args, kwargs))]


def _tried(operator: Operator, args: Any, kwargs: Any) -> tuple[Any, list[int]]:
    """Compute it once on numbers of no meaning, leaving the random numbers as they were."""
    state = torch.default_generator.get_state()
    try:
        results, given = _called(operator, args, kwargs)
    except Exception as error:
        raise Unknown(f"torch does not know its results without computing them ({error})") from None
    finally:
        torch.default_generator.set_state(state)
    for one in tensors_in(results):
        if one.layout is not torch.strided:
            raise Unknown(f"its result is {one.layout}, and only plain tensors are simulated")
    return results, given


def _scratch(tensor: Any) -> Any:
    """A tensor like another one that holds ones, or zeros where they may be indices."""
    scratch = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    flat = torch.empty(0, dtype=tensor.dtype).set_(scratch.untyped_storage())
    flat.fill_(1 if tensor.is_floating_point() or tensor.is_complex() else 0)
    if tensor.is_conj():
        scratch = torch._conj(scratch)
    return torch._neg_view(scratch) if tensor.is_neg() else scratch


def _grown(out: Any, args: Any, kwargs: Any, stand_ins: dict[int, Any]) -> Fresh | None:
    """The size an `out=` tensor gets, where it is not the one it has."""
    tensor = out.of(args, kwargs)
    if not isinstance(tensor, torch.Tensor):
        return None
    after = stand_ins[id(tensor)]
    return Fresh(after) if after.shape != tensor.shape else None
